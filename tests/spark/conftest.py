"""One broker and one Spark session for all tests of this directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .lab import Lab, missing

ROOT = str(Path(__file__).resolve().parents[2])
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "America/New_York",  # to see that no reading depends on it
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.stopTimeout": "20s",
    "spark.log.level": "OFF",  # tests fail tasks on purpose
}


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The broker with both configurations."""
    pytest.importorskip("pyodbc")
    pytest.importorskip("mssql_python_odbc")
    from harness.broker.tds.process import BrokerProcess

    with BrokerProcess(seed=1) as broker:
        yield Lab(broker)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with two slots, whose tasks are tried twice."""
    if why := missing():
        pytest.skip(why)
    from pyspark.sql import SparkSession

    from harness.pipeline.jar import jar_path, usable

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [ROOT, os.environ.get("PYTHONPATH", "")])
    )
    builder = SparkSession.builder.master("local[2,2]").appName("redial-tests")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    if usable(jar_path()):
        builder = builder.config("spark.jars", str(jar_path()))
    session = builder.getOrCreate()
    yield session
    session.stop()

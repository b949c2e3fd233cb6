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
def jars() -> dict[str, str]:
    """Path of each jar that can be had; else why not, which begins with a blank.

    A jar that Maven does not find costs many seconds: Spark's Avro is only looked for in the cache,
    and fetched with REDIAL_FULL.
    """
    import pyspark

    from harness.pipeline.jar import (
        JarMissing,
        avro_jar,
        jar_path,
        jdbc_jar,
        spark_avro,
        usable,
    )
    from tests.sampling import full

    version = pyspark.__version__
    avro = spark_avro(version)
    here = full() or usable(jar_path(avro), avro)
    found = {"avro": f" {avro.coordinates} is not in the cache; REDIAL_FULL=1 fetches it"}
    for name, have in (("jdbc", jdbc_jar), *([("avro", lambda: avro_jar(version))] * here)):
        try:
            found[name] = str(have())
        except JarMissing as error:
            found[name] = f" {error}"
    return found


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A local session with two slots, whose tasks are tried twice."""
    if why := missing():
        pytest.skip(why)
    from pyspark.sql import SparkSession

    paths = [p for p in request.getfixturevalue("jars").values() if not p.startswith(" ")]
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [ROOT, os.environ.get("PYTHONPATH", "")])
    )
    builder = SparkSession.builder.master("local[2,2]").appName("redial-tests")
    for key, value in (SETTINGS | {"spark.jars": ",".join(paths)}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def avro(spark: Any, jars: dict[str, str]) -> Any:
    """pyspark.sql.avro.functions, where their jar is."""
    if jars["avro"].startswith(" "):
        pytest.skip(jars["avro"].strip())
    from pyspark.sql.avro import functions

    return functions


@pytest.fixture
def jdbc(lab: Lab, spark: Any, jars: dict[str, str]) -> tuple[str, dict[str, str]]:
    """URL and properties for spark.read.jdbc, where Microsoft's driver is."""
    if jars["jdbc"].startswith(" "):
        pytest.skip(jars["jdbc"].strip())
    from harness.pipeline.landing import DRIVER

    url = lab.broker.jdbc.replace("databaseName=master", "databaseName=lab")
    return url, {"driver": DRIVER}

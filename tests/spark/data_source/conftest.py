"""One broker for all tests of this directory; the Spark session is tests/conftest.py's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from redial import paths

from .lab import Lab

ROOT = str(paths.ROOT)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The broker with both configurations."""
    pytest.importorskip("pyodbc")
    pytest.importorskip("mssql_python_odbc")
    from redial_broker.tds.process import BrokerProcess

    with BrokerProcess(seed=1) as broker:
        yield Lab(broker)


@pytest.fixture(params=["arrow-odbc", "pyodbc"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How rows are fetched: by the first of the two alone, or as if that was not installed."""
    from redial.spark import reading

    batches = reading.batches

    def none_of(found: Iterator[Any]) -> Iterator[Any]:
        assert list(found) == [], "pyodbc had to read"
        return iter(())

    if request.param == "pyodbc":
        monkeypatch.setitem(sys.modules, "arrow_odbc", None)
    else:
        pytest.importorskip("arrow_odbc")
        monkeypatch.setattr(reading, "batches", lambda *given: none_of(batches(*given)))
    return request.param


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
    from redial.spark.jar import DRIVER

    url = lab.broker.jdbc.replace("databaseName=master", "databaseName=lab")
    return url, {"driver": DRIVER}

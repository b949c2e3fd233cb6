"""Drivers the project does not depend on: proved where they happen to be installed."""

from pathlib import Path

import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import LOGIN

from .fake import EVERY_TYPE, FakeInstance

pytestmark = pytest.mark.driver
FREETDS = Path("/usr/lib/x86_64-linux-gnu/odbc/libtdsodbc.so")


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(instance=FakeInstance()) as running:
        yield running
    assert running.defects == []


@pytest.mark.parametrize("encryption", ["", ";Encryption=require"])
def test_freetds_under_pyodbc(broker, encryption):
    pyodbc = pytest.importorskip("pyodbc")
    if not FREETDS.exists():
        pytest.skip("FreeTDS's ODBC driver (package tdsodbc) is not installed")
    text = (
        f"Driver={FREETDS};Server=127.0.0.1;Port={broker.port};TDS_Version=7.4;UID={broker.user};"
        f"PWD={broker.password};Database=master{encryption}"
    )
    with pyodbc.connect(text, autocommit=True, timeout=LOGIN) as opened:
        assert opened.execute("select 1").fetchval() == 1
        assert opened.execute("select ?", "text").fetchval() == "text"
        assert len(opened.execute("every type").fetchall()[0]) == len(EVERY_TYPE)
        assert len(opened.execute("rows 3000").fetchall()) == 3000
        with pytest.raises(pyodbc.IntegrityError):
            opened.execute("error duplicate")
        opened.autocommit = False
        opened.execute("insert one")
        opened.commit()
        opened.rollback()


def test_pymssql(broker):
    pymssql = pytest.importorskip("pymssql", reason="pymssql is not installed")
    with pymssql.connect(
        server="127.0.0.1",
        port=str(broker.port),
        user=broker.user,
        password=broker.password,
        database="master",
        autocommit=True,
    ) as opened:
        cursor = opened.cursor()
        cursor.execute("select 1")
        assert cursor.fetchall() == [(1,)]
        cursor.callproc("usp_x", ("a", 5))
        with pytest.raises(pymssql.IntegrityError):
            cursor.execute("error duplicate")


def test_python_tds(broker):
    pytds = pytest.importorskip("pytds", reason="python-tds is not installed")
    with pytds.connect(
        "127.0.0.1",
        port=broker.port,
        user=broker.user,
        password=broker.password,
        database="master",
        autocommit=False,
    ) as opened:
        cursor = opened.cursor()
        cursor.execute("select 1")
        assert cursor.fetchall() == [(1,)]
        cursor.callproc("usp_x", (1, "x"))
        opened.commit()
        with pytest.raises(pytds.ProgrammingError):
            cursor.execute("error missing")

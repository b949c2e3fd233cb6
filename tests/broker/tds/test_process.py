import socket

import pytest

from redial_broker.tds.process import BrokerProcess
from tests.waiting import LOGIN

pytestmark = pytest.mark.driver
pyodbc = pytest.importorskip("pyodbc", reason="pyodbc or its library libodbc.so.2 is missing")


@pytest.fixture(scope="module")
def broker():
    with BrokerProcess(null=True) as running:
        yield running


@pytest.fixture
def cursor(broker):
    with pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN) as opened:
        yield opened.cursor()


def test_it_answers_from_another_process(cursor):
    assert cursor.execute("select 1").fetchval() == 1


@pytest.mark.parametrize("text", ["{call dbo.usp_SendBatch(?)}", "exec dbo.usp_SendBatch ?"])
@pytest.mark.parametrize("names", [[], ["SendList", "dbo"]])
def test_a_table_value_can_be_sent(cursor, text, names):
    rows = [(1, "a", b"x" * 10), (2, "b", b"")]
    cursor.execute(text, (names + rows,))


def test_fast_executemany_sends_many_calls_in_one_message(cursor):
    cursor.fast_executemany = True
    cursor.executemany("exec p ?, ?", [(n, f"row {n}") for n in range(3000)])


def test_a_process_that_cannot_start_says_why():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = BrokerProcess(taken.getsockname()[1], null=True)
        with pytest.raises(RuntimeError, match="address already in use"):
            process.start()


def test_stopping_twice_does_no_harm():
    process = BrokerProcess(null=True).start()
    process.stop()
    process.stop()
    with pytest.raises(RuntimeError, match="not running"):
        _ = process.pid

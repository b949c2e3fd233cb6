"""The real instance behind the wire, seen by pyodbc and Microsoft's ODBC Driver 18."""

import threading
from decimal import Decimal

import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import HANGS, LOGIN

from .ended import left_behind

pytestmark = pytest.mark.driver
pyodbc = pytest.importorskip("pyodbc", reason="pyodbc or its library libodbc.so.2 is missing")


@pytest.fixture
def broker():
    with EmbeddedBroker(clock="virtual") as running:
        yield running
    assert running.defects == []


@pytest.fixture
def connect(broker):
    opened = []

    def one(autocommit=True, database="master"):
        text = broker.odbc.replace("Database=master", f"Database={database}")
        opened.append(pyodbc.connect(text, autocommit=autocommit, timeout=LOGIN))
        return opened[-1]

    yield one
    for connection in opened:
        connection.close()


def until_somebody_waits(broker):
    while not broker.call(lambda i: any(s.wait is not None for s in i.sessions.values())):
        pass


def test_values_survive_a_table(connect):
    cursor = connect().cursor()
    cursor.execute(
        "create table dbo.t (id int primary key, n nvarchar(50), b varbinary(max), d decimal(9,2))"
    )
    row = (1, "ünï", b"x" * 9000, Decimal("1.50"))
    assert cursor.execute("insert into dbo.t values (?, ?, ?, ?)", *row).rowcount == 1
    assert tuple(cursor.execute("select * from dbo.t").fetchone()) == row
    with pytest.raises(pyodbc.IntegrityError):
        cursor.execute("insert into dbo.t values (?, ?, ?, ?)", *row)


def test_a_procedure_is_called_with_status_and_output(connect):
    cursor = connect().cursor()
    cursor.execute(
        "create procedure dbo.p @a int, @o int output as begin set @o = @a * 2; return 7 end"
    )
    cursor.execute("declare @rc int, @o int; exec @rc = dbo.p ?, @o output; select @rc, @o", 4)
    assert tuple(cursor.fetchone()) == (7, 8)
    cursor.execute("{call dbo.p(?, ?)}", 5, 0)


def test_transactions_end_as_the_driver_asks(connect):
    opened = connect(autocommit=False)
    opened.execute("create table dbo.t (id int primary key)")
    opened.commit()
    opened.execute("insert into dbo.t values (1)")
    opened.rollback()
    opened.execute("insert into dbo.t values (2)")
    opened.commit()
    assert [row[0] for row in opened.execute("select id from dbo.t")] == [2]


def test_a_lost_connection_rolls_back_and_frees_its_locks(broker, connect):
    keeper = connect()
    keeper.execute("create table dbo.t (id int primary key)")
    loser = pyodbc.connect(broker.odbc, autocommit=False, timeout=LOGIN)
    loser.execute("insert into dbo.t values (1)")
    loser.close()
    broker.settle()
    assert keeper.execute("select count(*) from dbo.t").fetchval() == 0


def test_an_hour_of_waiting_passes_in_virtual_time(broker, connect):
    done = []
    opened = connect()
    client = threading.Thread(
        target=lambda: done.append(opened.execute("waitfor delay '01:00:00'"))
    )
    client.start()
    until_somebody_waits(broker)
    broker.advance(3599)
    assert done == []
    broker.advance(1)
    client.join(HANGS)
    assert len(done) == 1


def test_a_cancel_ends_a_wait(broker, connect):
    cursor = connect().cursor()
    canceller = threading.Thread(target=lambda: (until_somebody_waits(broker), cursor.cancel()))
    canceller.start()
    with pytest.raises(pyodbc.Error, match="HY008"):
        cursor.execute("waitfor delay '01:00:00'")
    canceller.join()
    assert cursor.execute("select 1").fetchval() == 1


def test_kill_ends_a_connection_that_waits_and_one_that_does_not(broker, connect):
    idle, busy = connect(), connect()
    ids = [one.execute("select @@spid").fetchval() for one in (idle, busy)]
    broker.call(lambda instance: instance.kill(ids[0]))
    with pytest.raises(pyodbc.Error) as caught:
        idle.execute("select 1")
    assert caught.value.args[0].startswith("08")

    def kill():
        until_somebody_waits(broker)
        broker.call(lambda instance: instance.kill(ids[1]))

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(pyodbc.Error, match="596"):
        busy.execute("waitfor delay '01:00:00'")
    killer.join()
    assert left_behind(broker) == (0, 0)


def test_kill_ends_a_connection_though_another_session_begins_at_that_moment(broker, connect):
    """1 T1 has a transaction and is idle. 2 It is killed, and somebody logs in. 3 T1 goes on."""
    idle = connect()
    number = idle.execute("begin transaction; select @@spid").fetchval()
    broker.call(lambda instance: (instance.kill(number), instance.connect()))
    with pytest.raises(pyodbc.Error):
        idle.execute("select @@trancount")

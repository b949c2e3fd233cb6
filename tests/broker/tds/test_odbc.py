"""The wire as pyodbc and Microsoft's ODBC Driver 18 see it, TLS on, against canned answers."""

import threading

import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import HANGS, LOGIN

from .fake import EVERY_TYPE, FakeInstance

pytestmark = pytest.mark.driver
pyodbc = pytest.importorskip("pyodbc", reason="pyodbc or its library libodbc.so.2 is missing")


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(instance=FakeInstance()) as running:
        yield running
    assert running.defects == []


@pytest.fixture
def connection(broker):
    with pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN) as opened:
        yield opened


@pytest.fixture
def cursor(connection):
    return connection.cursor()


def test_the_default_connection_is_encrypted_and_answers(cursor):
    assert cursor.execute("select 1 as a").fetchval() == 1
    assert cursor.description[0][0] == "a"


@pytest.mark.parametrize("encrypt", ["yes", "no", "strict"])
def test_every_way_to_encrypt_works(broker, encrypt, tmp_path):
    text = broker.odbc.replace("Encrypt=yes", f"Encrypt={encrypt}")
    if encrypt == "strict":  # the driver then insists on verifying: give it the certificate
        from redial_broker.tds.tls import tls_contexts

        pem = tmp_path / "server.pem"
        pem.write_bytes(tls_contexts().pem)
        text += f";ServerCertificate={pem}"
    with pyodbc.connect(text, autocommit=True, timeout=LOGIN) as opened:
        assert opened.execute("select 3").fetchval() == 3


def test_every_type_arrives_with_its_value_and_as_null(cursor):
    values, nulls = cursor.execute("every type").fetchall()
    for (type_, expected), value in zip(EVERY_TYPE, values, strict=True):
        if type_.name == "sql_variant":
            continue
        if type_.name in {"binary", "varbinary", "rowversion", "image"}:
            assert bytes(value) == expected
        else:
            assert value == expected, type_
    assert set(nulls) == {None}


@pytest.mark.parametrize(
    "value", [5, -(2**40), "text", "x" * 9000, b"\x01", b"b" * 20000, 1.5, True, ""]
)
def test_a_parameter_comes_back_as_it_was_sent(cursor, value):
    assert cursor.execute("select ?", value).fetchval() == value


def test_none_becomes_null(cursor):
    assert cursor.execute("select ?", None).fetchval() is None


def test_a_large_result_arrives_whole(cursor):
    rows = cursor.execute("rows 20000").fetchall()
    assert len(rows) == 20000
    assert tuple(rows[-1]) == (19999, "row 19999")


def test_a_call_reaches_the_procedure(cursor, broker):
    cursor.execute("{call dbo.usp_Send(?,?,?)}", "service", 7, b"body")
    assert broker.call(lambda i: i.calls[-1][1]) == ["service", 7, b"body"]


def test_a_call_may_return_rows(cursor):
    assert len(cursor.execute("{call usp_rows}").fetchall()) == 2


def test_a_return_value_is_fetched_by_text(cursor):
    cursor.execute("DECLARE @rc int; EXEC @rc = dbo.usp_Send ?, ?; SELECT @rc", "a", 1)
    assert cursor.fetchval() == 7


def test_row_counts_are_reported(cursor):
    assert cursor.execute("insert three").rowcount == 3


def test_executemany_sends_every_row(cursor):
    cursor.executemany("exec p ?", [(1,), (2,), (3,)])


@pytest.mark.parametrize(
    ("name", "state", "kind"),
    [
        ("duplicate", "23000", "IntegrityError"),
        ("deadlock", "40001", "Error"),
        ("missing", "42S02", "ProgrammingError"),
        ("divide", "22012", "DataError"),
        ("thrown", "42000", "ProgrammingError"),
    ],
)
def test_an_error_arrives_as_the_drivers_own_class(cursor, name, state, kind):
    with pytest.raises(getattr(pyodbc, kind)) as caught:
        cursor.execute(f"error {name}")
    assert caught.value.args[0] == state
    assert cursor.execute("select 1").fetchval() == 1


def test_an_error_in_a_procedure_arrives(cursor):
    with pytest.raises(pyodbc.ProgrammingError, match="from the procedure"):
        cursor.execute("{call usp_fail(?)}", 1)


def test_rows_come_before_the_error_behind_them(cursor):
    cursor.execute("rows 2 then divide")
    assert len(cursor.fetchall()) == 2
    with pytest.raises(pyodbc.DataError):
        cursor.nextset()


def test_printed_text_is_a_message(cursor):
    cursor.execute("print hello")
    assert "hello" in cursor.messages[0][1]


def test_commit_and_rollback_travel_as_transaction_requests(broker):
    with pyodbc.connect(broker.odbc, autocommit=False, timeout=LOGIN) as opened:
        session = broker.call(lambda i: i.sessions[max(i.sessions)])
        opened.execute("insert one")
        assert session.transactions == 1
        opened.commit()
        opened.execute("insert one")
        opened.rollback()
        opened.execute("insert one")
        assert session.transactions == 1


def test_a_transaction_the_server_rolled_back_is_begun_again_by_the_driver(broker):
    with pyodbc.connect(broker.odbc, autocommit=False, timeout=LOGIN) as opened:
        with pytest.raises(pyodbc.DataError):
            opened.execute("abort")
        opened.execute("insert one")
        opened.commit()


def test_a_cancel_ends_a_waiting_statement_and_spares_the_next(cursor, broker):
    waiting = broker.call(lambda i: i.waiting)
    waiting.clear()
    canceller = threading.Thread(target=lambda: (waiting.wait(HANGS), cursor.cancel()), daemon=True)
    canceller.start()
    with pytest.raises(pyodbc.Error) as caught:
        cursor.execute("waitfor")
    canceller.join()
    assert caught.value.args[0] == "HY008"
    assert cursor.execute("select 1").fetchval() == 1


def test_a_query_timeout_ends_a_waiting_statement(connection):
    connection.timeout = 1
    with pytest.raises(pyodbc.OperationalError) as caught:
        connection.execute("waitfor")
    assert caught.value.args[0] == "HYT00"


def test_a_result_left_unread_does_not_disturb_the_next_statement(cursor):
    cursor.execute("rows 5000").fetchone()
    assert cursor.execute("select 1").fetchval() == 1


def test_a_fatal_error_ends_the_connection(broker):
    opened = pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN)
    with pytest.raises(pyodbc.Error, match="killed"):
        opened.execute("fatal")
    with pytest.raises(pyodbc.Error) as caught:
        opened.execute("select 1")
    assert caught.value.args[0].startswith("08")


def test_a_wrong_password_and_an_unknown_database_are_refused(broker):
    with pytest.raises(pyodbc.InterfaceError, match="18456"):
        pyodbc.connect(broker.odbc.replace(broker.password, "wrong"), timeout=LOGIN)
    with pytest.raises(pyodbc.Error, match="4060"):
        pyodbc.connect(broker.odbc.replace("Database=master", "Database=nope"), timeout=LOGIN)


def test_the_driver_sees_the_versions_and_the_database(connection):
    assert connection.getinfo(pyodbc.SQL_DBMS_VER) == "16.00.4100"
    connection.execute("use tempdb")
    assert connection.getinfo(pyodbc.SQL_DATABASE_NAME) == "tempdb"


def test_mars_is_refused(broker):
    with pytest.raises(pyodbc.Error):
        pyodbc.connect(broker.odbc + ";MARS_Connection=yes", timeout=LOGIN)


@pytest.mark.parametrize("size", [512, 32767])
def test_other_packet_sizes_work(broker, size):
    with pyodbc.connect(
        broker.odbc + f";Packet Size={size}", autocommit=True, timeout=LOGIN
    ) as opened:
        assert opened.execute("select ?", "x" * 30000).fetchval() == "x" * 30000
        assert len(opened.execute("rows 3000").fetchall()) == 3000


def test_many_connections_at_once(broker):
    opened = [pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN) for _ in range(20)]
    assert [one.execute("select 1").fetchval() for one in opened] == [1] * 20
    for one in opened:
        one.close()

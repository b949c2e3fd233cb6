"""Outbox: messages are sent by INSERT; whatever inserts past the trigger fails."""

import pytest

from redial_broker.tds.process import BrokerProcess
from tests.installed import rendered, split
from tests.product.callers.stage import Stage, configured, keys, row_keys, switched
from tests.product.sql.test_usp_SendBatch import ARGUMENTS, EVENT
from tests.waiting import HANGS, LOGIN

pyodbc = pytest.importorskip("pyodbc", reason="pyodbc or its library libodbc.so.2 is missing")

INSERT = "INSERT INTO audit.Outbox (Ordinal, MessageType, MessageBody, MessageKey) VALUES "


def rows(stage, *ordinals):
    """VALUES rows whose body is the ordinal."""
    key = "N'k1'" if stage.traits.named else "NULL"
    return ", ".join(f"({n}, N'{EVENT}', 0x{n:02X}, {key})" for n in ordinals)


@keys
def test_the_rows_of_one_insert_are_sent_in_the_order_of_their_ordinals(key):
    """3.4: an INSTEAD OF trigger with an ordinal; no row is stored and no result set comes."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(INSERT + rows(stage, 3, 1, 2))
    assert t1.out.result_sets == []
    assert stage.landed() == ["01", "02", "03"]
    assert t1.rows("SELECT * FROM audit.Outbox;") == []
    stage.is_clean()


@keys
def test_an_insert_from_a_table_is_one_batch(key):
    """1 T1 fills a table. 2 INSERT ... SELECT sends it. 3 In a transaction it rolls back.

    nothing.
    """
    stage = Stage(key)
    t1 = stage.caller()
    t1.does("INSERT INTO dbo.Orders VALUES (3), (1), (2);")
    own = "N'k1'" if stage.traits.named else "NULL"
    sql = (
        f"INSERT INTO audit.Outbox SELECT o.Id, N'{EVENT}', CONVERT(varbinary(4), o.Id), {own}, "
        "NULL FROM dbo.Orders AS o;"
    )
    t1.does(sql + "BEGIN TRANSACTION;" + sql + "ROLLBACK;")
    assert stage.landed() == ["00000001", "00000002", "00000003"]
    t1.does(
        "INSERT INTO audit.Outbox SELECT o.Id, NULL, NULL, NULL, NULL FROM dbo.Orders AS o "
        "WHERE 1 = 0;"
    )
    stage.is_clean()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ("(1, N'{0}', 0x01, NULL), (1, N'{0}', 0x02, NULL)", "the first is 1"),
        (
            "(1, N'{0}', 0x01, NULL), (NULL, N'{0}', 0x02, NULL), (NULL, NULL, NULL, NULL)",
            "Ordinal must not be NULL, and is in 2 rows",
        ),
        (
            "(1, N'{0}', 0x01, NULL), (2, N'EndOfStream', NULL, NULL)",
            "Ordinal 2: MessageType must be one of",
        ),
        ("(1, N'', 0x01, NULL)", "Ordinal 1: MessageType must be one of"),
        ("(1, N'{0}', 0x01, N'k')", "Ordinal 1: MessageKey must be NULL"),
    ],
)
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_a_wrong_row_is_named_and_the_whole_statement_refused(values, text, abort):
    """Triggers run under XACT_ABORT ON, so the caller's transaction goes with it, and is told so."""
    stage = Stage()
    t1 = stage.caller()
    out = t1.starts(
        f"SET XACT_ABORT {abort}; BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
        + INSERT
        + values.format(EVENT)
    )
    assert t1.errors[0] == 50150
    assert text in out.messages[0].text
    assert t1.value("@@TRANCOUNT") == 0
    assert (stage.orders(), stage.landed()) == ([], [])
    stage.is_clean()


def test_an_insert_that_skips_the_trigger_fails():
    """1 BULK INSERT without FIRE_TRIGGERS does. 2 So does an INSERT while the trigger is off.

    4406.
    """
    stage = Stage()
    stage.dba.does("DISABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;")
    stage.dba.fails(INSERT + rows(stage, 1), 4406)
    stage.dba.does("ENABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;")
    stage.dba.does(INSERT + rows(stage, 2))
    assert stage.landed() == ["02"]
    stage.is_clean()


@pytest.mark.parametrize(
    "sql", ["UPDATE audit.Outbox SET Ordinal = 1;", "DELETE FROM audit.Outbox;"]
)
def test_there_is_nothing_to_change_in_it(sql):
    stage = Stage()
    stage.dba.starts(sql)
    assert stage.dba.errors
    stage.is_clean()


@row_keys
@switched("broker_error_dooms")
def test_a_dead_dialog_replays_the_statement_whole_on_one_new_dialog(key, switches):
    """ST#188: 1 The dialog dies. 2 An INSERT of three.

    all on one new dialog, or an error and none.
    """
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(stage.send("00"))
    t1.loses_dialogs(INSERT + rows(stage, 1, 2, 3))
    if t1.errors:
        assert switches["broker_error_dooms"] and t1.errors[0] == 8426
        assert stage.landed() == ["00"]
    else:
        assert stage.landed() == ["00", "01", "02", "03"]
        assert stage.dba.rows(
            "SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing WHERE Body > 0x00;"
        ) == [(1,)]
    assert t1.value("@@TRANCOUNT") == 0
    stage.is_clean()


def test_an_application_may_insert_and_read_its_columns_and_nothing_more():
    stage = Stage()
    stage.dba.does("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    t1 = stage.caller()
    t1.does(
        "EXECUTE AS USER = N'app';" + INSERT + rows(stage, 1) + "; SELECT * FROM audit.Outbox; "
        "REVERT;"
    )
    assert stage.landed() == ["01"]
    for sql in (
        "DELETE FROM audit.Outbox;",
        "DISABLE TRIGGER audit.Outbox_Insert ON audit.Outbox;",
    ):
        t1.starts(f"EXECUTE AS USER = N'app'; {sql}")
        assert t1.errors
        t1.does("IF USER_NAME() = N'app' REVERT;")
    stage.is_clean()


# ---------------------------------------------------------------------- over the wire
@pytest.fixture(scope="module")
def connect():
    """Connections of pyodbc to a broker process with the configuration deployed."""
    with BrokerProcess() as broker:
        with pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN) as setup:
            setup.execute("CREATE DATABASE lab;")
            setup.execute("USE lab;")
            for name, text in rendered(configured()).items():
                if name[:2].isdigit():
                    for batch in split(text):
                        setup.execute(batch.sql)
        text = broker.odbc.replace("Database=master", "Database=lab")
        yield lambda autocommit=True: pyodbc.connect(text, autocommit=autocommit, timeout=LOGIN)


def arrived(connection, count):
    """Bodies landed so far, once there are ``count``; what landed is taken away."""
    for _ in range(20 * HANGS):
        found = connection.execute(
            "SELECT Body FROM audit.Landing WHERE MessageType = ? ORDER BY RowVersion;", EVENT
        ).fetchall()
        if len(found) >= count:
            break
        connection.execute("WAITFOR DELAY '00:00:00.050';")
    connection.execute("DELETE FROM audit.Landing;")
    return [bytes(row[0]) for row in found]


BODIES = [n.to_bytes(2, "big") for n in range(300)]


@pytest.mark.driver
@pytest.mark.parametrize("fast", [False, True], ids=["executemany", "fast_executemany"])
def test_executemany_inserts_into_it(connect, fast):
    """df.write.jdbc and executemany are many INSERTs of one row; the transaction makes them one."""
    with connect() as looks, connect(autocommit=False) as connection:
        cursor = connection.cursor()
        cursor.fast_executemany = fast
        cursor.executemany(
            "INSERT INTO audit.Outbox (Ordinal, MessageType, MessageBody) VALUES (?, ?, ?)",
            [(n, EVENT, body) for n, body in enumerate(BODIES)],
        )
        connection.rollback()
        cursor.executemany(
            "INSERT INTO audit.Outbox (Ordinal, MessageType, MessageBody) VALUES (?, ?, ?)",
            [(n, EVENT, body) for n, body in enumerate(BODIES)],
        )
        connection.commit()
        assert arrived(looks, len(BODIES)) == BODIES


@pytest.mark.driver
def test_a_table_valued_parameter_carries_thousands(connect):
    with connect() as connection:
        rows_ = [(n, EVENT, body, None, None) for n, body in enumerate(BODIES * 4)]
        found = connection.execute(
            "{call audit.usp_SendBatch(?, ?, ?, ?)}",
            "//redial/audit/initiator",
            "//redial/audit/target",
            "//redial/audit/contract",
            [*reversed(rows_)],
        ).fetchone()
        assert tuple(found) == (len(rows_), 1, 0, 0, len(rows_) - 1)
        assert arrived(connection, len(rows_)) == BODIES * 4


@pytest.mark.driver
def test_json_over_the_wire_answers_with_its_row(connect):
    with connect() as connection:
        found = connection.execute(
            f"EXECUTE audit.usp_SendBatch {ARGUMENTS}, @json = ?",
            f'[{{"ordinal": 2, "type": "{EVENT}", "body": "Ag=="}}, '
            f'{{"ordinal": 1, "type": "{EVENT}", "body": "AQ=="}}]',
        ).fetchone()
        assert tuple(found) == (2, 1, 0, 1, 2)
        assert arrived(connection, 2) == [b"\x01", b"\x02"]
        with pytest.raises(pyodbc.Error, match="Ordinal 1: body must be base64"):
            connection.execute(
                f"EXECUTE audit.usp_SendBatch {ARGUMENTS}, @json = ?",
                f'[{{"ordinal": 1, "type": "{EVENT}", "body": "!"}}]',
            )

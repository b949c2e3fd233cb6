"""A full disk, a full log, no memory, a READ_ONLY filegroup: what fails, and what goes on (F-487)."""

import pytest

from redial_broker.exec import trouble
from redial_broker.instance.instance import Instance

OBJECTS = """
CREATE TABLE dbo.Landing (i int NOT NULL PRIMARY KEY); INSERT dbo.Landing VALUES (1);
CREATE TABLE dbo.Other (i int NOT NULL PRIMARY KEY); INSERT dbo.Other VALUES (1);
CREATE QUEUE dbo.IQ; CREATE QUEUE dbo.TQ;
CREATE SERVICE [//i] ON QUEUE dbo.IQ; CREATE SERVICE [//t] ON QUEUE dbo.TQ ([DEFAULT]);
"""
DIALOG = """DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);"""
STATEMENTS = {
    "insert": "INSERT dbo.Landing VALUES (2)",
    "update": "UPDATE dbo.Landing SET i = 3",
    "delete": "DELETE dbo.Landing",
    "other": "INSERT dbo.Other VALUES (2)",
    "send": DIALOG,
    "receive": "RECEIVE TOP (1) * FROM dbo.TQ",
    "read": "SELECT COUNT(*) FROM dbo.Landing",
    "temp": "CREATE TABLE #t (i int); INSERT #t VALUES (1); DROP TABLE #t",
}


def made(**switches):
    """(a session, its database), with a message in TQ."""
    instance = Instance(switches=switches)
    session = instance.connect()
    session.execute("CREATE DATABASE App; USE App").ok()
    session.execute(OBJECTS).ok()
    session.execute(DIALOG).ok()
    return session, instance.database("App")


@pytest.mark.parametrize(
    ("number", "tables", "struck"),
    [
        (trouble.DATA_FULL, (), {"insert", "other", "send"}),
        (trouble.DATA_FULL, ("dbo.Landing",), {"insert"}),
        (trouble.LOG_FULL, (), {"insert", "update", "delete", "other", "send", "receive"}),
        (trouble.NO_MEMORY, (), {"insert", "update", "delete", "other", "send", "receive"}),
        (trouble.READ_ONLY_FILEGROUP, ("dbo.Landing",), {"insert", "update", "delete"}),
    ],
)
def test_each_kind_of_trouble_strikes_what_needs_it_and_nothing_else(number, tables, struck):
    session, database = made()
    for sql in STATEMENTS.values():  # compiled before the trouble
        session.execute(f"BEGIN TRANSACTION; {sql}; ROLLBACK").ok()
    trouble.begin(database, number, tables)
    found = {}
    for name, sql in STATEMENTS.items():
        error = session.execute(f"BEGIN TRANSACTION; {sql}").error()
        found[name] = error.number if error else None
        session.execute("IF @@TRANCOUNT > 0 ROLLBACK").ok()
    assert found == {name: number if name in struck else None for name in STATEMENTS}
    trouble.end(database)
    for sql in STATEMENTS.values():
        session.execute(f"BEGIN TRANSACTION; {sql}; ROLLBACK").ok()


def test_it_strikes_a_write_from_another_database_as_well():
    session, database = made()
    trouble.begin(database, trouble.DATA_FULL)
    error = session.execute("USE master; INSERT App.dbo.Landing VALUES (2)").error()
    assert (error.number, error.severity) == (1105, 17)
    assert "'dbo.Landing' in database 'App'" in error.text


@pytest.mark.parametrize(("dooms", "state"), [(False, 1), (True, -1)])
def test_whether_the_transaction_is_doomed_is_a_switch(dooms, state):
    session, database = made(server_trouble_dooms=dooms)
    trouble.begin(database, trouble.DATA_FULL)
    assert session.execute(
        "BEGIN TRANSACTION; BEGIN TRY INSERT dbo.Landing VALUES (2) END TRY "
        "BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE(); ROLLBACK END CATCH"
    ).rows() == [(1105, state)]


def test_a_full_disk_switches_off_the_queue_of_a_reader_that_rolls_back_and_leaves():
    """The published danger: five times started, five rollbacks, silence (F-485)."""
    session, database = made()
    session.execute("""CREATE PROCEDURE dbo.reader AS BEGIN
        SET XACT_ABORT ON; BEGIN TRANSACTION;
        DECLARE @rows TABLE (n bigint);
        RECEIVE message_sequence_number FROM dbo.TQ INTO @rows;
        INSERT dbo.Landing SELECT n + 100 FROM @rows; COMMIT; END""").ok()
    trouble.begin(database, trouble.DATA_FULL)
    session.execute("""ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON,
        PROCEDURE_NAME = dbo.reader, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""").ok()
    session.instance.advance(3600)
    shown = "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'TQ'"
    assert session.execute(shown).rows() == [(0,)]
    trouble.end(database)
    session.execute("ALTER QUEUE dbo.TQ WITH STATUS = ON").ok()
    session.instance.advance(60)
    assert session.execute("SELECT COUNT(*) FROM dbo.Landing").rows() == [(2,)]


def test_what_is_no_trouble_is_named():
    _, database = made()
    with pytest.raises(ValueError, match=r"trouble 208: there are 1105, 9002, 701, 652"):
        trouble.begin(database, 208)
    with pytest.raises(ValueError, match="not those of single tables"):
        trouble.begin(database, trouble.LOG_FULL, ("dbo.Landing",))

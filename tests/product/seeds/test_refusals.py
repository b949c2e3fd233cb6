"""What the embedded broker does not do it refuses by name and position, with nothing half done."""

from __future__ import annotations

import re

import pytest

from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.instance.instance import Instance

STATEMENTS = [
    ("CHECKPOINT;", "CHECKPOINT"),
    ("BEGIN DISTRIBUTED TRANSACTION;", "BEGIN DISTRIBUTED TRANSACTION"),
    ("BACKUP DATABASE db TO DISK = N'x';", "BACKUP"),
    ("RESTORE DATABASE db FROM DISK = N'x';", "RESTORE"),
    ("DBCC CHECKDB;", "DBCC"),
    ("BULK INSERT dbo.t FROM N'x';", "the statement BULK"),
    ("CREATE FULLTEXT INDEX ON dbo.t (id) KEY INDEX PK_t;", "FULLTEXT"),
    (
        "CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (1);",
        "definitions of PARTITION objects",
    ),
    (
        "CREATE EVENT NOTIFICATION n ON SERVER FOR CREATE_LOGIN TO SERVICE 's', "
        "'current database';",
        "an event notification FOR CREATE_LOGIN",
    ),
    (
        "CREATE ENDPOINT e STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR TSQL ();",
        "CREATE ENDPOINT .. FOR TSQL",
    ),
    ("EXECUTE (N'SELECT 1') AT remote;", "a linked server"),
    ("SHUTDOWN;", "SHUTDOWN"),
    ("ALTER TABLE dbo.t SWITCH TO dbo.u;", "ALTER TABLE SWITCH"),
    ("KILL STATS JOB 5;", "KILL STATS JOB"),
    ("READTEXT dbo.t.x @p 0 1;", "READTEXT"),
    ("ALTER DATABASE db ADD FILE (NAME = f, FILENAME = N'f');", "ALTER DATABASE"),
]

OPTIONS = [
    ("SET SHOWPLAN_XML ON;", "SET SHOWPLAN_XML"),
    ("SET STATISTICS IO ON;", "SET STATISTICS IO"),
    ("SET STATISTICS TIME ON;", "SET STATISTICS TIME"),
    ("SET FORCEPLAN ON;", "SET FORCEPLAN"),
    ("SET PARSEONLY ON;", "SET PARSEONLY"),
    ("SET REMOTE_PROC_TRANSACTIONS ON;", "SET REMOTE_PROC_TRANSACTIONS"),
    ("SET LANGUAGE Deutsch;", "SET LANGUAGE"),
    ("SET DATEFORMAT dmy;", "SET DATEFORMAT"),
    ("SET TEXTSIZE 100;", "SET TEXTSIZE"),
]

HINTS = [
    ("SELECT * FROM dbo.t WITH (SNAPSHOT);", "SNAPSHOT"),
    ("SELECT * FROM dbo.t WITH (SPATIAL_WINDOW_MAX_CELLS = 4);", "SPATIAL_WINDOW_MAX_CELLS"),
    ("SELECT * FROM dbo.t TABLESAMPLE (10 PERCENT);", "TABLESAMPLE"),
    ("SELECT * FROM dbo.t OPTION (USE PLAN N'<x/>');", "USE PLAN"),
]

QUERIES = [
    ("SELECT * FROM OPENROWSET(BULK N'x', SINGLE_BLOB) AS b;", "OPENROWSET"),
    ("SELECT * FROM OPENQUERY(remote, 'SELECT 1') AS q;", "OPENQUERY"),
    ("SELECT * FROM remote.db.dbo.t;", "a linked server"),
    ("SELECT id FROM dbo.t FOR BROWSE;", "FOR BROWSE"),
    ("SELECT * FROM dbo.t FOR SYSTEM_TIME ALL;", "SYSTEM_TIME"),
    ("SELECT * FROM dbo.t WHERE CONTAINS(id, N'x');", "CONTAINS"),
]

FUNCTIONS = [
    ("SELECT ENCRYPTBYPASSPHRASE('a', 'b');", "ENCRYPTBYPASSPHRASE"),
    ("SELECT PWDENCRYPT(N'k');", "PWDENCRYPT"),
    ("SELECT geometry::Parse('POINT (1 1)');", "a static method call (::)"),
    ("SELECT HASHBYTES('MD4', 'x');", "HASHBYTES with algorithm MD4"),
    ("SELECT @@PACK_RECEIVED;", "@@PACK_RECEIVED"),
    ("SELECT @@TOTAL_READ;", "@@TOTAL_READ"),
    ("SELECT CONVERT(varchar(30), GETDATE(), 131);", "style 131"),
]

PROCEDURES = [
    ("EXECUTE xp_cmdshell N'dir';", "xp_cmdshell"),
    ("EXECUTE sp_send_dbmail;", "sp_send_dbmail"),
    ("EXECUTE sp_OACreate N'x', 1;", "sp_OACreate"),
    ("EXECUTE sp_spaceused;", "sp_spaceused"),
]

TYPES = [
    ("DECLARE @x geography;", "geography"),
    ("DECLARE @x hierarchyid;", "hierarchyid"),
    ("CREATE TABLE dbo.u (id int, x geometry);", "geometry"),
    ("CREATE TABLE dbo.u (id int, x vector(3));", "vector"),
    ("CREATE TABLE dbo.u (id int) ON fg;", "filegroup fg"),
    ("CREATE CLUSTERED COLUMNSTORE INDEX i ON dbo.t;", "COLUMNSTORE"),
    ("CREATE TABLE dbo.u (x varchar(9) COLLATE Japanese_CI_AS);", "collation Japanese_CI_AS"),
    (
        "CREATE ROUTE r WITH SERVICE_NAME = 'SQL/ServiceBroker/BrokerConfiguration', "
        "ADDRESS = 'LOCAL';",
        "dynamic routing",
    ),
]

ALL = [*STATEMENTS, *OPTIONS, *HINTS, *QUERIES, *FUNCTIONS, *PROCEDURES, *TYPES]

ALONE = [
    ("CREATE TRIGGER tr ON ALL SERVER FOR LOGON AS PRINT 1;", "CREATE TRIGGER"),
    ("CREATE PROCEDURE dbo.p;2 AS PRINT 1;", "numbered procedures"),
    ("CREATE DATABASE d2 COLLATE Japanese_CI_AS;", "collation Japanese_CI_AS"),
    ("CREATE PROCEDURE dbo.p AS CHECKPOINT;", "CHECKPOINT"),
]


@pytest.fixture(scope="module")
def instance() -> Instance:
    made = Instance(seed=3)
    made.connect().execute("CREATE DATABASE db;").ok()
    made.connect("db").execute(
        "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT PK_t PRIMARY KEY);"
        "CREATE TABLE dbo.witness (id int); CREATE QUEUE dbo.q;"
    ).ok()
    return made


@pytest.fixture
def session(instance):
    session = instance.connect("db")
    yield session
    session.close()


def objects(session) -> list[tuple]:
    return session.execute("SELECT name, type FROM sys.objects ORDER BY name;").rows()


def refused(session, text: str, name: str, line: int) -> None:
    """The only error of the batch is the refusal, with the construct's name and its position."""
    [error] = session.execute(text).errors
    assert error.number == NOT_SUPPORTED, error.text
    assert re.match("(The embedded broker|Redial's T-SQL parser) does not support ", error.text)
    assert name.lower() in error.text.lower()
    position = re.search(r"\(line (\d+), column (\d+)\)\.$", error.text)
    assert position is not None, error.text
    assert (int(position[1]), error.line) == (line, line)
    assert int(position[2]) >= 1


@pytest.mark.parametrize(("statement", "name"), ALL, ids=[name for _, name in ALL])
def test_it_is_refused_by_name_and_position_and_its_transaction_with_it(session, statement, name):
    before = objects(session)
    refused(session, f"BEGIN TRANSACTION;\nINSERT dbo.witness VALUES (1);\n  {statement}", name, 3)
    assert session.trancount == 0
    assert session.execute("SELECT COUNT(*) FROM dbo.witness;").one() == 0
    assert objects(session) == before


@pytest.mark.parametrize(("statement", "name"), ALONE, ids=[name for _, name in ALONE])
def test_what_must_be_alone_in_its_batch_is_refused_and_makes_nothing(session, statement, name):
    before = objects(session)
    refused(session, "\n" + statement, name, 2)
    assert objects(session) == before
    assert session.execute("SELECT COUNT(*) FROM sys.databases;").one() == 5


def test_a_refusal_can_be_caught_and_the_session_goes_on(session):
    answer = session.execute(
        "BEGIN TRY EXECUTE sp_executesql N'CHECKPOINT'; END TRY BEGIN CATCH PRINT ERROR_NUMBER(); "
        "END CATCH;"
    )
    assert [m.text for m in answer.messages] == [str(NOT_SUPPORTED)]
    assert session.execute("SELECT 1;").one() == 1


def test_a_procedure_with_something_unknown_in_it_is_refused_where_it_is_written(session):
    text = "CREATE PROCEDURE dbo.p AS\nBEGIN\n    PRINT 1;\n    SET SHOWPLAN_XML ON;\nEND"
    refused(session, text, "SHOWPLAN_XML", 4)
    assert session.execute("SELECT OBJECT_ID(N'dbo.p');").one() is None

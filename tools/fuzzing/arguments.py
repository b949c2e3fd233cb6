"""Statements with arbitrary arguments: every built-in function, conversion, procedure and option.

``Statements(seed)[number]`` is always the same text, so a finding is its seed and number. What is
called comes from the broker's own tables, so a new function or procedure is met without being added
here; what stands in its arguments comes from ``VALUES``.
"""

from __future__ import annotations

import random
from functools import cache

from redial_broker.exec.documented import names
from redial_broker.exec.execute import DYNAMIC_PROCEDURES
from redial_broker.exec.functions.registry import FUNCTIONS
from redial_broker.exec.objects import CATALOG_FUNCTIONS, SYSTEM_PROCEDURES, TABLE_FUNCTIONS
from redial_broker.exec.query.rowset_functions import ROWSET_FUNCTIONS

TYPES = (
    "bit",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(38, 38)",
    "decimal(5, 2)",
    "numeric(1, 0)",
    "money",
    "smallmoney",
    "float",
    "real",
    "date",
    "time(0)",
    "time",
    "datetime",
    "smalldatetime",
    "datetime2(3)",
    "datetime2",
    "datetimeoffset",
    "char(3)",
    "varchar(1)",
    "varchar(max)",
    "nchar(2)",
    "nvarchar(4000)",
    "nvarchar(max)",
    "text",
    "ntext",
    "image",
    "binary(4)",
    "varbinary(8)",
    "varbinary(max)",
    "rowversion",
    "uniqueidentifier",
    "xml",
    "sql_variant",
    "sysname",
    "hierarchyid",
    "geometry",
    "cursor",
    "dbo.nobody",
    "int(3)",
    "decimal(39, 2)",
    "varchar(0)",
    "datetime2(9)",
    "json",
    "vector(3)",
)

VALUES = (
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "100",
    "255",
    "32768",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "99999999999999999999999999999999999999",
    "0.5",
    "-1.00",
    "1e308",
    "-1e-300",
    "1e0",
    "$1.5",
    "$-922337203685477.5808",
    "''",
    "' '",
    "'a'",
    "N'ä'",
    "N'\U0001f600'",
    "'1'",
    "'-1.5e3'",
    "'2024-02-29'",
    "'0001-01-01'",
    "'9999-12-31 23:59:59.9999999'",
    "'12:34'",
    "'2024-02-29T12:00:00+14:00'",
    "'0x0F'",
    "'$.a[0]'",
    "'strict $'",
    'N\'{"a":[1,null,"x"]}\'',
    "'<a b=\"1\">t</a>'",
    "'dbo.t'",
    "N'dbo.p'",
    "'sys.objects'",
    "'[a].[b].[c].[d].[e]'",
    "N'''' + CHAR(0) + N']'",
    "'%[^a-z]_%'",
    "REPLICATE('x', 8001)",
    "REPLICATE(CAST('x' AS varchar(max)), 70000)",
    "CHAR(0)",
    "NCHAR(55357)",
    "0x",
    "0x00",
    "0xFFFE3C00",
    "0xFF00FF00FF00FF00FF00FF00FF00FF00FF",
    "NEWID()",
    "CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier)",
    "GETDATE()",
    "SYSDATETIMEOFFSET()",
    "CAST('0001-01-01' AS date)",
    "CAST('9999-12-31' AS datetime2)",
    "CAST('23:59:59.9999999' AS time)",
    "CAST('1753-01-01' AS datetime)",
    "CAST('2079-06-06' AS smalldatetime)",
    "CAST(1 AS bit)",
    "CAST(255 AS tinyint)",
    "CAST(1 AS bigint)",
    "CAST(0.1 AS real)",
    "CAST('<a><b c=\"1\"/></a>' AS xml)",
    "CAST(1 AS sql_variant)",
    "CAST(N'x' AS sql_variant)",
    "CAST(NULL AS xml)",
    "CAST(NULL AS varchar(max))",
    "CAST('x' AS text)",
    "CAST(0x01 AS image)",
    "CAST('a' AS char(5))",
    "@@ROWCOUNT",
    "@i",
    "@s",
    "@x",
    "@d",
    "@b",
    "@v",
    "DB_ID()",
    "OBJECT_ID('dbo.t')",
    "(SELECT 1)",
    "(SELECT TOP 0 1)",
    "CASE WHEN 1 = 0 THEN 1 END",
    "year",
    "day",
    "nanosecond",
    "tzoffset",
    "dw",
    "a",
    "DEFAULT",
    "*",
    "1 = 1",
    "1, 2",
)

DECLARED = (
    "DECLARE @i int = -5, @s nvarchar(40) = N'öÄ x', @x xml = '<r a=\"1\"><i>2</i><i/></r>', "
    "@d datetime2 = '2024-02-29T10:11:12.1234567', @b varbinary(20) = 0x0102FF, "
    "@v sql_variant = 1.5, @o int, @p nvarchar(max); "
)

OPTIONS = (
    "CREATE TABLE dbo.x (a int IDENTITY({}, {}) PRIMARY KEY)",
    "CREATE TABLE dbo.x (a {type} DEFAULT ({}) CHECK (a > {}))",
    "CREATE TABLE dbo.x (a {type} NOT NULL UNIQUE, b AS (a + {}) PERSISTED, INDEX i (a) WHERE a > {})",
    "CREATE TABLE dbo.x (a {type} PRIMARY KEY WITH (FILLFACTOR = {}), CHECK ({}))",
    "CREATE TABLE dbo.x (a {type} COLLATE Latin1_General_BIN2 DEFAULT {} WITH VALUES)",
    "ALTER TABLE dbo.t ADD z {type} NOT NULL DEFAULT {}",
    "ALTER TABLE dbo.t ALTER COLUMN n {type}",
    "ALTER TABLE dbo.t ADD CONSTRAINT k CHECK (id < {}), DEFAULT {} FOR n",
    "CREATE INDEX i ON dbo.t (n) INCLUDE (s) WHERE n > {} WITH (FILLFACTOR = {}, MAXDOP = {})",
    "CREATE SEQUENCE dbo.q AS {type} START WITH {} INCREMENT BY {} MINVALUE {} MAXVALUE {} CACHE {}",
    "ALTER SEQUENCE dbo.sq RESTART WITH {} INCREMENT BY {}",
    "SELECT NEXT VALUE FOR dbo.sq + {}",
    "CREATE TYPE dbo.y FROM {type} NOT NULL",
    "CREATE TYPE dbo.y AS TABLE (a {type} DEFAULT {} PRIMARY KEY)",
    "CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = {} WITH SUBJECT = {}, START_DATE = {}, EXPIRY_DATE = {}",
    "CREATE LOGIN l WITH PASSWORD = {}, DEFAULT_DATABASE = {}, SID = {}",
    "CREATE USER u WITHOUT LOGIN WITH DEFAULT_SCHEMA = {}",
    "CREATE MASTER KEY ENCRYPTION BY PASSWORD = {}",
    "CREATE QUEUE dbo.q2 WITH STATUS = ON, RETENTION = OFF, ACTIVATION (PROCEDURE_NAME = dbo.p, "
    "MAX_QUEUE_READERS = {}, EXECUTE AS {}), POISON_MESSAGE_HANDLING (STATUS = ON)",
    "ALTER QUEUE dbo.q WITH ACTIVATION (MAX_QUEUE_READERS = {})",
    "CREATE BROKER PRIORITY bp FOR CONVERSATION SET (PRIORITY_LEVEL = {}, CONTRACT_NAME = {})",
    "CREATE ROUTE r WITH SERVICE_NAME = {}, BROKER_INSTANCE = {}, LIFETIME = {}, ADDRESS = {}",
    "CREATE EVENT NOTIFICATION e ON DATABASE FOR CREATE_TABLE TO SERVICE {}, {}",
    "CREATE MESSAGE TYPE [m2] VALIDATION = VALID_XML WITH SCHEMA COLLECTION {}",
    "CREATE XML SCHEMA COLLECTION dbo.xs AS {}",
    "BEGIN DIALOG @g FROM SERVICE [s] TO SERVICE {}, {} ON CONTRACT [DEFAULT] WITH LIFETIME = {}, "
    "ENCRYPTION = OFF",
    "BEGIN DIALOG @g FROM SERVICE [s] TO SERVICE 's' ON CONTRACT [DEFAULT] WITH RELATED_CONVERSATION = {}",
    "BEGIN CONVERSATION TIMER ({}) TIMEOUT = {}",
    "SEND ON CONVERSATION {} MESSAGE TYPE [DEFAULT] ({})",
    "END CONVERSATION {} WITH ERROR = {} DESCRIPTION = {}",
    "MOVE CONVERSATION {} TO {}",
    "GET CONVERSATION GROUP @g FROM dbo.q",
    "WAITFOR (RECEIVE TOP ({}) *, CAST(message_body AS {type}) AS m FROM dbo.q WHERE "
    "conversation_handle = {}), TIMEOUT {}",
    "WAITFOR DELAY {}",
    "WAITFOR TIME {}",
    "SET LOCK_TIMEOUT {}",
    "SET DATEFIRST {}",
    "SET DATEFORMAT {}",
    "SET LANGUAGE {}",
    "SET CONTEXT_INFO {}",
    "SET ROWCOUNT {}",
    "SET TEXTSIZE {}",
    "SET DEADLOCK_PRIORITY {}",
    "SET IDENTITY_INSERT dbo.t ON; INSERT dbo.t (id, n) VALUES ({}, {})",
    "RAISERROR({}, {}, {}, {}, {}) WITH NOWAIT",
    "THROW {}, {}, {}",
    "PRINT {}",
    "KILL {}",
    "DBCC INPUTBUFFER({})",
    "DBCC CHECKIDENT({}, RESEED, {})",
    "DBCC SHRINKFILE({}, {})",
    "SELECT TOP ({}) * FROM dbo.t ORDER BY {}",
    "SELECT TOP ({}) PERCENT WITH TIES * FROM dbo.t ORDER BY n",
    "SELECT * FROM dbo.t ORDER BY id OFFSET {} ROWS FETCH NEXT {} ROWS ONLY",
    "SELECT * FROM dbo.t WHERE n = {} AND s LIKE {} ESCAPE {}",
    "SELECT * FROM dbo.t WHERE id IN ({}, {}) OR n BETWEEN {} AND {}",
    "SELECT {} + {}, {} - {}, {} * {}, {} / {}, {} % {}",
    "SELECT {} & {}, {} | {}, {} ^ {}, ~{}, -{}",
    "SELECT CASE {} WHEN {} THEN {} ELSE {} END, IIF({} = {}, {}, {}), COALESCE({}, {}), NULLIF({}, {})",
    "SELECT {} COLLATE {}, {} AT TIME ZONE {}",
    "SELECT SUM({}) OVER (ORDER BY id ROWS {} PRECEDING), LAG({}, {}, {}) OVER (ORDER BY id), "
    "NTILE({}) OVER (ORDER BY id) FROM dbo.t",
    "SELECT n, SUM({}), STRING_AGG({}, {}), MAX({}), CHECKSUM_AGG({}) FROM dbo.t GROUP BY n",
    "SELECT PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY {}) OVER () FROM dbo.t",
    "SELECT * FROM dbo.t FOR XML PATH({}), ROOT({}), TYPE",
    "SELECT {} AS [a/b], {} AS [@c], {} AS [text()] FOR XML PATH('')",
    "SELECT {} AS a, {} AS [b.c] FOR JSON PATH, ROOT({})",
    "SELECT @x.value({}, {}), @x.query({}), @x.exist({})",
    "SELECT @x.value('({xq})[1]', '{type}'), @x.query('{xq}'), @x.exist('{xq}')",
    "SET @x.modify('{dml}')",
    "SELECT * FROM @x.nodes('{xq}') AS n (c) CROSS APPLY (SELECT c.value('{xq}', '{type}') AS v) AS d",
    "SELECT * FROM OPENJSON({}, {}) WITH (a {type} {}, b nvarchar(max) '$.b' AS JSON)",
    "EXEC sp_executesql {}, {}, {}, {}",
    "EXEC ({})",
    "EXEC dbo.p {}, {}",
    "EXEC dbo.p @a = {}, @b = {} OUTPUT",
    "INSERT dbo.t (n, s) VALUES ({}, {}), ({}, {})",
    "INSERT dbo.types SELECT {}, {}, {}, {}",
    "UPDATE dbo.t SET n = {}, s = {} WHERE id = {}",
    "DELETE TOP ({}) dbo.t WHERE n > {}",
    "MERGE dbo.t USING (SELECT {} AS i) AS s ON id = s.i WHEN MATCHED THEN UPDATE SET n = {} "
    "WHEN NOT MATCHED THEN INSERT (n) VALUES ({});",
    "DECLARE c CURSOR FOR SELECT * FROM dbo.t WHERE n > {}; OPEN c; FETCH RELATIVE {} FROM c; "
    "FETCH ABSOLUTE {} FROM c",
    "DECLARE @t TABLE (a {type} DEFAULT {}, CHECK (a > {})); INSERT @t DEFAULT VALUES",
    "GRANT SELECT ON OBJECT::{} TO {}",
    "EXECUTE AS USER = {}; REVERT",
    "EXECUTE AS LOGIN = {} WITH COOKIE INTO @b; REVERT WITH COOKIE = {}",
    "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = {}",
    "BACKUP DATABASE lab TO DISK = {}",
    "USE {}",
    "SAVE TRANSACTION {}",
    "BEGIN TRY SELECT {} / {} END TRY BEGIN CATCH SELECT ERROR_MESSAGE(), {} END CATCH",
    "IF {} = {} PRINT {} ELSE RETURN",
    "WHILE {} < {} BREAK",
    "SELECT * INTO dbo.new FROM (SELECT {} AS a, {} AS b) AS d",
    "CREATE FUNCTION dbo.nf (@a {type} = {}) RETURNS {type} AS BEGIN RETURN {} END",
    "CREATE PROCEDURE dbo.np @a {type} = {}, @b {type} OUTPUT AS SELECT {}, @a",
    "CREATE VIEW dbo.nv AS SELECT {} AS a, {} AS b",
    "SELECT dbo.f({}, {}), (SELECT COUNT(*) FROM dbo.tf({}))",
    "SELECT HASHBYTES({}, {}), COMPRESS({}), DECOMPRESS({}), ENCRYPTBYPASSPHRASE({}, {})",
)
"""Statements with holes: ``{}`` a value, ``{type}`` a type, ``{xq}`` an XQuery, ``{dml}`` XML DML."""

XQUERIES = (
    "/r/i",
    "/r/@a",
    "//i[last()]",
    "(/r/i)[1]",
    "count(/r/*)",
    "sum(/r/i)",
    "string(.)",
    "data(/r/i)",
    "/r/i[. = 2]",
    "for $i in /r/i order by $i descending return <o>{{ $i }}</o>",
    "if (1 = 1) then 1 else ()",
    "some $i in /r/i satisfies $i = 2",
    "1 div 0",
    'xs:int("x")',
    'xs:dateTime("2024-02-29T24:00:00Z")',
    "/r/i cast as xs:decimal ?",
    'sql:variable("@i")',
    'sql:variable("@nobody")',
    'sql:column("n")',
    "..",
    "/",
    "",
    "/r/text()",
    "/processing-instruction()",
    "local-name(/r[1])",
    'substring("abc", -1, 5)',
    "round(2.5)",
    'concat("a")',
    "(1, 2, 3)[2]",
    "/r/i[0]",
    "/*:r/@*",
    'declare default element namespace "u"; /r',
    '<a b="{{1}}">{{(1,2)}}</a>',
    "element x {{ 1 }}",
    "let $a := 1 return $a",
    "/r/i[position() < 3]",
    "distinct-values(/r/i)",
    "(((((1)))))",
    '"',
    "/r[",
    "1 +",
)

XML_CHANGES = (
    "insert <z/> into (/r)[1]",
    'insert attribute q {{ "1" }} into (/r)[1]',
    'insert text {{ "t" }} as first into (/r)[1]',
    "insert (<a/>, <b/>) after (/r/i)[1]",
    "insert <z/> into /r/i",
    "delete /r/i",
    "delete //@*",
    "delete /",
    'replace value of (/r/i/text())[1] with "9"',
    'replace value of (/r/@a)[1] with sql:variable("@i")',
    'replace value of (/r)[1] with "9"',
    "replace value of () with 1",
    "insert () into (/r)[1]",
    "insert if (1 = 1) then <q/> else () into (/r)[1]",
    "drop /r",
    "",
)


@cache
def _procedures() -> tuple[str, ...]:
    return tuple(sorted(SYSTEM_PROCEDURES.keys() | DYNAMIC_PROCEDURES.keys()))


@cache
def _table_functions() -> tuple[str, ...]:
    return (*(f"sys.{name}" for name in sorted(TABLE_FUNCTIONS)), *sorted(ROWSET_FUNCTIONS))


@cache
def _functions() -> tuple[str, ...]:
    return tuple(sorted(FUNCTIONS.keys() | CATALOG_FUNCTIONS.keys()))


@cache
def _others() -> tuple[str, ...]:
    """Functions Microsoft documents and the broker refuses by name."""
    return tuple(sorted(names("functions")))


class Statements:
    """The inputs of one seed, by number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __getitem__(self, number: int) -> str:
        choice = random.Random(f"{self.seed}/{number}")
        family = FAMILIES[number % len(FAMILIES)]
        return DECLARED + family(choice)


PLAIN = (
    "1",
    "2",
    "0",
    "NULL",
    "'a'",
    "N'x'",
    "'1'",
    "'2024-02-29'",
    "@i",
    "@s",
    "@x",
    "@d",
    "0x0102",
)
"""What most arguments are, so that a statement with one odd argument comes to use it."""


def _value(choice: random.Random) -> str:
    return choice.choice(PLAIN if choice.random() < 0.5 else VALUES)


def _arguments(choice: random.Random, least: int, most: int) -> str:
    count = choice.randint(max(0, least - 1), min(most, least + 3) + 1)
    if choice.random() < 0.7:
        count = choice.randint(least, min(most, least + 3))
    return ", ".join(_value(choice) for _ in range(count))


def _call(choice: random.Random, depth: int = 1) -> str:
    name = choice.choice(_functions() if choice.random() < 0.95 else _others())
    known = FUNCTIONS.get(name) or CATALOG_FUNCTIONS.get(name)
    least, most = (known[0], known[1]) if isinstance(known, tuple) else (0, 4)
    given = _arguments(choice, int(least), int(most))
    if depth and choice.random() < 0.2 and given:
        given = ", ".join([_call(choice, depth - 1), *given.split(", ")[1:]])
    return f"{name}({given})"


def of_function(choice: random.Random) -> str:
    """Built-in functions, alone and over rows."""
    call = _call(choice)
    kind = choice.randrange(5)
    if kind == 0:
        return f"SELECT {call} FROM dbo.types"
    if kind == 1:
        return f"SELECT COUNT(*) FROM dbo.t WHERE {call} = {_value(choice)}"
    return f"SELECT {call}, {_call(choice)}"


def of_cast(choice: random.Random) -> str:
    """Conversions with and without style."""
    of, value = choice.choice(TYPES), _value(choice)
    kind = choice.randrange(6)
    if kind == 0:
        return f"SELECT CONVERT({of}, {value}, {choice.randint(-2, 140)})"
    if kind == 1:
        return f"SELECT TRY_CONVERT({of}, {value}, {_value(choice)})"
    if kind == 2:
        return f"SELECT TRY_CAST({value} AS {of}), PARSE({value} AS {of} USING {_value(choice)})"
    if kind == 3:
        return f"DECLARE @z {of} = {value}; SELECT @z, CAST(@z AS {choice.choice(TYPES)})"
    inner = f"CAST({value} AS {of})"
    return f"SELECT {inner}, CAST({inner} AS {choice.choice(TYPES)}), {inner} + {_value(choice)}"


def of_procedure(choice: random.Random) -> str:
    """System procedures by position and by name."""
    name = choice.choice(_procedures())
    parts = []
    for _ in range(choice.randint(0, 5)):
        value = _value(choice)
        if choice.random() < 0.2:
            value = choice.choice(("@o OUTPUT", "@p OUTPUT", "@s", "@i", "N'dbo.t'", "N'SELECT 1'"))
        if choice.random() < 0.15:
            value = f"@{choice.choice(('objname', 'stmt', 'handle', 'Resource', 'x'))} = {value}"
        parts.append(value)
    return f"EXEC {name} {', '.join(parts)}"


def of_table_function(choice: random.Random) -> str:
    """Functions in FROM."""
    name = choice.choice(_table_functions())
    given = _arguments(choice, 0, 4)
    over = "dbo.t CROSS APPLY " if choice.random() < 0.3 else ""
    return f"SELECT * FROM {over}{name}({given}) AS f"


def of_option(choice: random.Random) -> str:
    """Statements with options and operands."""
    text = choice.choice(OPTIONS)
    out = ""
    while (at := text.find("{")) >= 0:
        end = text.index("}", at)
        hole = text[at + 1 : end]
        pools = {"type": TYPES, "xq": XQUERIES, "dml": XML_CHANGES}
        value = choice.choice(pools[hole]) if hole else _value(choice)
        value = value.replace("{{", "\1").replace("}}", "\2")
        out += text[:at] + value
        text = text[end + 1 :]
    return "DECLARE @g uniqueidentifier; " + (out + text).replace("\1", "{").replace("\2", "}")


FAMILIES = (of_function, of_cast, of_option, of_procedure, of_option, of_table_function)

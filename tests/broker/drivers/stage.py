"""The database every probe finds: made with statements alone, so that any client could."""

from __future__ import annotations

import datetime
from decimal import Decimal

LARGE = 50 * 1024 * 1024
"""Bytes of a large value: of its text in UTF-16, of its binary as it is."""

DAILY_LARGE = 8 * 1024 * 1024
"""The same in the daily suite, for all drivers but the first; 50 MB of each: REDIAL_FULL=1."""

MOMENT = datetime.datetime(2024, 2, 29, 13, 14, 15, 123456)

ENCRYPTED = "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID"
PACKET_SIZE = "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID"

TYPES: list[tuple[str, str, object]] = [
    # column type, literal, value as Python's drivers hand it out
    ("tinyint", "255", 255),
    ("smallint", "-32768", -32768),
    ("int", "-2147483648", -(2**31)),
    ("bigint", "4611686018427387904", 2**62),
    ("bit", "1", True),
    ("decimal(38,10)", "-123.4500000000", Decimal("-123.4500000000")),
    ("numeric(9,2)", "7.25", Decimal("7.25")),
    ("money", "-1.2345", Decimal("-1.2345")),
    ("smallmoney", "2.5", Decimal("2.5")),
    ("float", "1.5", 1.5),
    ("real", "-0.25", -0.25),
    ("date", "'2024-02-29'", MOMENT.date()),
    ("time(6)", "'13:14:15.123456'", MOMENT.time()),
    ("datetime2(6)", "'2024-02-29T13:14:15.123456'", MOMENT),
    ("datetime", "'2024-02-29T13:14:15.123'", MOMENT.replace(microsecond=123000)),
    ("smalldatetime", "'2024-02-29T13:14:00'", MOMENT.replace(second=0, microsecond=0)),
    (
        "datetimeoffset(6)",
        "'2024-02-29T13:14:15.123456+02:00'",
        MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    ),
    ("char(5)", "'abc'", "abc  "),
    ("varchar(20)", "N'ü€'", "ü€"),
    ("varchar(max)", "REPLICATE(CAST('v' AS varchar(max)), 9000)", "v" * 9000),
    ("nchar(4)", "N'ab'", "ab  "),
    ("nvarchar(20)", "N'ünï\U0001f600'", "ünï\U0001f600"),
    ("nvarchar(max)", "REPLICATE(CAST(N'ñ' AS nvarchar(max)), 9000)", "ñ" * 9000),
    ("binary(3)", "0x616263", b"abc"),
    ("varbinary(20)", "0x0102", b"\x01\x02"),
    (
        "varbinary(max)",
        "CAST(REPLICATE(CAST('b' AS varchar(max)), 9000) AS varbinary(max))",
        b"b" * 9000,
    ),
    (
        "uniqueidentifier",
        "'12345678-9ABC-DEF0-1234-56789ABCDEF0'",
        "12345678-9ABC-DEF0-1234-56789ABCDEF0",
    ),
    ("xml", "N'<a>ü</a>'", "<a>ü</a>"),
    ("sql_variant", "CAST(N'v' AS nvarchar(10))", "v"),
    ("text", "'text'", "text"),
    ("ntext", "N'löng'", "löng"),
    ("image", "0x696D", b"im"),
]


def column(number: int) -> str:
    """Name of the column that holds a type."""
    return f"c{number}"


def statements() -> list[str]:
    """Batches that make databases ``matrix`` and ``other``."""
    columns = ", ".join(f"{column(i)} {type_} NULL" for i, (type_, _, _) in enumerate(TYPES))
    literals = ", ".join(literal for _, literal, _ in TYPES)
    return [
        "CREATE DATABASE matrix",
        "CREATE DATABASE other",
        "ALTER DATABASE matrix SET ALLOW_SNAPSHOT_ISOLATION ON",
        "USE matrix",
        f"CREATE TABLE dbo.types (id int NOT NULL PRIMARY KEY, {columns})",
        f"INSERT INTO dbo.types VALUES (1, {literals})",
        "INSERT INTO dbo.types (id) VALUES (2)",
        "CREATE TABLE dbo.rows (id int NOT NULL CONSTRAINT PK_rows PRIMARY KEY,"
        " v nvarchar(50) NULL, b varbinary(max) NULL, d decimal(18,4) NULL, m datetime2(6) NULL)",
        "CREATE TABLE dbo.large (id int IDENTITY PRIMARY KEY, n nvarchar(max) NULL,"
        " b varbinary(max) NULL, x xml NULL)",
        "CREATE TABLE dbo.numbers (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL)",
        "WITH n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 500)"
        " INSERT INTO dbo.numbers SELECT id, N'row' FROM n OPTION (MAXRECURSION 500)",
        "CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL, v nvarchar(50) NULL)",
        "CREATE PROCEDURE dbo.twice @a int, @twice int OUTPUT, @text nvarchar(50) OUTPUT AS\n"
        "SELECT @a AS a;\nSET @twice = @a * 2;\nSET @text = CONCAT(N'ü', @a);\nRETURN 7;",
        "CREATE PROCEDURE dbo.quietly_twice @a int, @twice int OUTPUT, @text nvarchar(50) OUTPUT"
        " AS\nSET @twice = @a * 2;\nSET @text = CONCAT(N'ü', @a);\nRETURN 7;",
        "CREATE PROCEDURE dbo.fails AS\nBEGIN\n  RAISERROR(N'from inside', 16, 5);\nEND",
        "CREATE PROCEDURE dbo.take @p dbo.pairs READONLY AS\n"
        "SELECT COUNT(*) AS n, SUM(id) AS total, MAX(v) AS v FROM @p;",
        "CREATE PROCEDURE dbo.put @id int, @v nvarchar(50) AS\n"
        "INSERT INTO dbo.rows (id, v) VALUES (@id, @v);",
    ]

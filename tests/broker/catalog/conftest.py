"""A database with one of everything, and sessions on it."""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance

SETUP = (
    "CREATE DATABASE App",
    "USE App",
    "CREATE SCHEMA audit",
    """CREATE TABLE audit.Log (
        Id int IDENTITY(10, 5) NOT NULL CONSTRAINT PK_Log PRIMARY KEY,
        Name sysname, Handle uniqueidentifier NOT NULL CONSTRAINT UQ_Handle UNIQUE,
        Body varbinary(max) NULL,
        At datetime2(3) NOT NULL CONSTRAINT DF_At DEFAULT (SYSUTCDATETIME()),
        Amount decimal(18, 4) NULL CONSTRAINT CK_Amount CHECK (Amount > 0), Version rowversion)""",
    "CREATE INDEX IX_Name ON audit.Log (Name) INCLUDE (At) WHERE Amount IS NOT NULL",
    """CREATE PROCEDURE audit.usp_Add @name sysname, @id int = 0 OUTPUT AS
BEGIN
    INSERT audit.Log (Name, Handle) VALUES (@name, NEWID());
    SET @id = SCOPE_IDENTITY();
END""",
    "CREATE TYPE audit.Rows AS TABLE (Ordinal int NOT NULL PRIMARY KEY, Body nvarchar(50))",
    "CREATE TYPE audit.Code FROM varchar(10) NOT NULL",
)


@pytest.fixture
def instance() -> Instance:
    return Instance(seed=3)


@pytest.fixture
def session(instance):
    made = instance.connect()
    for batch in SETUP:
        answer = made.execute(batch)
        assert not answer.errors, answer.errors
    return made


@pytest.fixture
def rows(session):
    """rows(sql) -> rows of the first result set, as tuples."""
    return lambda sql: session.execute(sql).rows()


@pytest.fixture
def one(session):
    """one(sql) -> the only value, sql_variant unwrapped."""

    def ask(sql):
        value = session.execute(sql).one()
        return getattr(value, "value", value)

    return ask

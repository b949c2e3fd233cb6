"""Functions that read the catalog."""

import pytest


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("OBJECT_NAME(OBJECT_ID('audit.Log'))", "Log"),
        ("OBJECT_SCHEMA_NAME(OBJECT_ID(N'[audit].[Log]'))", "audit"),
        ("OBJECT_NAME(OBJECT_ID('App.audit.Log', 'U'))", "Log"),
        ("OBJECT_ID('audit.Log', 'P')", None),
        ("OBJECT_ID('audit.missing')", None),
        ("OBJECT_ID(NULL)", None),
        ("OBJECT_NAME(OBJECT_ID('audit.PK_Log'))", "PK_Log"),
        ("SCHEMA_NAME(SCHEMA_ID('audit'))", "audit"),
        ("SCHEMA_NAME()", "dbo"),
        ("DB_NAME()", "App"),
        ("DB_NAME(DB_ID('master'))", "master"),
        ("DB_ID('nowhere')", None),
        ("TYPE_NAME(TYPE_ID('nvarchar'))", "nvarchar"),
        ("TYPE_NAME(TYPE_ID('audit.Code'))", "Code"),
        ("COL_NAME(OBJECT_ID('audit.Log'), 2)", "Name"),
        ("COL_LENGTH('audit.Log', 'Name')", 256),
        ("COL_LENGTH('audit.Log', 'nope')", None),
        ("OBJECTPROPERTY(OBJECT_ID('audit.Log'), 'TableHasPrimaryKey')", 1),
        ("OBJECTPROPERTY(OBJECT_ID('audit.usp_Add'), 'IsProcedure')", 1),
        ("COLUMNPROPERTY(OBJECT_ID('audit.Log'), 'Id', 'IsIdentity')", 1),
        ("INDEXPROPERTY(OBJECT_ID('audit.Log'), 'PK_Log', 'IsClustered')", 1),
        ("IDENT_CURRENT('audit.Log')", 10),
        ("IS_MEMBER('db_owner')", 1),
        ("IS_MEMBER('nobody')", None),
        ("IS_SRVROLEMEMBER('sysadmin')", 1),
        ("HAS_PERMS_BY_NAME('audit.Log', 'OBJECT', 'SELECT')", 1),
        ("HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')", 1),
        ("USER_ID('dbo')", 1),
        ("DATABASE_PRINCIPAL_ID('public')", 0),
        ("DATABASEPROPERTYEX('App', 'Recovery')", "FULL"),
        ("SERVERPROPERTY('EngineEdition')", 3),
        ("PARSENAME('a.b.[c.d]', 1)", "c.d"),
        ("GET_TRANSMISSION_STATUS(NEWID())", ""),
        ("APPLOCK_MODE('public', 'x', 'Session')", "NoLock"),
    ],
)
def test_the_answer_is_the_servers(one, expression, value):
    assert one(f"SELECT {expression}") == value


def test_every_function_the_executor_compiles_is_answered():
    from redial_broker.exec.functions.catalog import CATALOG_FUNCTIONS as COMPILED
    from redial_broker.exec.objects import CATALOG_FUNCTIONS

    assert set(COMPILED) - set(CATALOG_FUNCTIONS) == set()


def test_a_temporary_table_has_an_id(one):
    assert one("CREATE TABLE #t (a int); SELECT OBJECT_NAME(OBJECT_ID('tempdb..#t'))") == "#t"


def test_the_lowest_active_rowversion_stays_while_its_transaction_is_open(session, instance):
    other = instance.connect("App")
    before = other.execute("SELECT MIN_ACTIVE_ROWVERSION()").one()
    session.execute("BEGIN TRAN; EXEC audit.usp_Add N'a'")
    other.execute("INSERT audit.Log (Name, Handle) VALUES (N'b', NEWID())")
    assert other.execute("SELECT MIN_ACTIVE_ROWVERSION()").one() == before
    session.execute("ROLLBACK")
    after = other.execute("SELECT MIN_ACTIVE_ROWVERSION()").one()
    assert int.from_bytes(after, "big") == int.from_bytes(before, "big") + 2

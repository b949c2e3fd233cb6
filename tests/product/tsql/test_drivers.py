"""Text that drivers and tools send by themselves."""

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch
from redial.tsql.ast import ExecuteProcedure, If, InsertBulk, Literal


@pytest.mark.parametrize(
    ("sql", "procedure", "arguments"),
    [
        ("sp_datatype_info_100 12,3", "sp_datatype_info_100", [(None, 12), (None, 3)]),
        (
            "exec sp_sproc_columns @procedure_name=usp_Send , @ODBCVer=3",
            "sp_sproc_columns",
            [("@procedure_name", "usp_Send"), ("@ODBCVer", 3)],
        ),
        ("[sys].sp_tables N'x', [dbo]", "sp_tables", [(None, "x"), (None, "dbo")]),
        ("sp_reset_connection", "sp_reset_connection", []),
    ],
)
def test_a_procedure_may_be_called_without_exec_and_with_bare_words(sql, procedure, arguments):
    call = parse_batch(sql).statements[0]
    assert isinstance(call, ExecuteProcedure)
    assert call.implicit == (not sql.startswith("exec"))
    assert call.procedure.name == procedure
    assert [(a.name, a.value.value) for a in call.arguments] == arguments
    assert all(isinstance(a.value, Literal) for a in call.arguments)


def test_only_the_first_statement_may_lack_exec():
    with pytest.raises(TsqlSyntaxError):
        parse_batch("SELECT 1; sp_help")


@pytest.mark.parametrize(
    "sql",
    [
        "IF @@TRANCOUNT > 0 COMMIT TRAN",
        "IF @@TRANCOUNT > 0 ROLLBACK TRAN",
        "set implicit_transactions off",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "select 1 select 2",
        "SET FMTONLY ON select * from t where 1=2 SET FMTONLY OFF",
        "declare @p1 int set @p1=1 exec sp_prepexec @p1 output,NULL,N'select 1' select @p1",
        "SELECT @@SPID; SELECT @@VERSION",
        "SELECT CAST(SERVERPROPERTY('EngineEdition') AS int)",
        'set quoted_identifier off select "text"',
        "WHILE 1=1 WAITFOR DELAY '0:0:1'",
    ],
)
def test_what_drivers_send_parses(sql):
    assert parse_batch(sql).statements


def test_a_condition_of_a_driver_is_an_if():
    assert isinstance(parse_batch("IF @@TRANCOUNT > 0 COMMIT TRAN").statements[0], If)


def test_the_header_of_a_bulk_load_names_columns_and_types():
    sql = "insert bulk [dbo].[t] ([a] int, [b] nvarchar(max) collate x) with (TABLOCK)"
    bulk = parse_batch(sql).statements[0]
    assert isinstance(bulk, InsertBulk)
    assert [column.name for column in bulk.columns] == ["a", "b"]
    assert [option.name for option in bulk.options] == ["TABLOCK"]


def test_an_odbc_call_is_not_t_sql():
    with pytest.raises(TsqlSyntaxError):
        parse_batch("{call dbo.p(?)}")


def test_odbc_constants_are():
    assert parse_batch("SELECT {d '2020-01-01'}, {ts '2020-01-01 10:00:00'}, {fn NOW()}")

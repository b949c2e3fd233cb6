"""What drivers ask of the catalog by themselves."""

import pytest


def ask(session, text):
    answer = session.execute(text)
    assert not answer.errors, answer.errors
    return answer.result_sets[0]


@pytest.mark.parametrize(
    ("call", "width"),
    [
        ("sp_tables", 5),
        ("sp_columns N'Log'", 19),
        ("sp_columns_100 N'Log'", 29),
        ("sp_pkeys N'Log'", 6),
        ("sp_fkeys N'Log'", 14),
        ("sp_statistics N'Log'", 13),
        ("sp_statistics_100 N'Log'", 13),
        ("sp_stored_procedures", 8),
        ("sp_sproc_columns N'usp_Add'", 20),
        ("sp_sproc_columns_100 N'usp_Add'", 28),
    ],
)
def test_the_number_of_columns_is_what_jdbc_counts_on(session, call, width):
    assert len(ask(session, call).columns) == width


def test_tables_are_found_by_pattern_and_type(session):
    found = ask(session, "EXEC sp_tables N'L%', N'audit', NULL, N'''TABLE'''").rows
    assert found == [("App", "audit", "Log", "TABLE", None)]


def test_databases_are_listed_for_sqltables(session):
    found = ask(session, "EXEC sp_tables N'', N'', N'%'").rows
    assert ("App", None, None, None, None) in found


def test_columns_show_odbc_types_precision_and_position(session):
    found = ask(session, "sp_columns_100 N'Log', N'audit', @ODBCVer = 3").dicts()
    shown = [
        (r["COLUMN_NAME"], r["DATA_TYPE"], r["TYPE_NAME"], r["PRECISION"], r["NULLABLE"])
        for r in found
    ]
    assert shown[0] == ("Id", 4, "int identity", 10, 0)
    assert shown[1] == ("Name", -9, "sysname", 128, 0)
    assert shown[2] == ("Handle", -11, "uniqueidentifier", 36, 0)
    assert shown[4] == ("At", 93, "datetime2", 23, 0)
    assert [r["ORDINAL_POSITION"] for r in found] == [1, 2, 3, 4, 5, 6, 7]


def test_a_primary_keys_columns_come_in_key_order(session):
    assert ask(session, "sp_pkeys N'Log', N'audit'").rows == [
        ("App", "audit", "Log", "Id", 1, "PK_Log")
    ]


def test_a_procedures_parameters_follow_its_return_value(session):
    found = ask(
        session, "exec sp_sproc_columns @procedure_name=usp_Add , @ODBCVer=3, @fUsePattern=0"
    ).dicts()
    assert [(r["COLUMN_NAME"], r["COLUMN_TYPE"]) for r in found] == [
        ("@RETURN_VALUE", 5),
        ("@name", 1),
        ("@id", 2),
    ]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (
            "INSERT audit.Log (Name, Handle, Body) VALUES (@P1, @P2, @P3)",
            ["nvarchar(128)", "uniqueidentifier", "varbinary(max)"],
        ),
        (
            "INSERT INTO audit.Log (Name, Amount) SELECT @P1, @P2",
            ["nvarchar(128)", "decimal(18,4)"],
        ),
        ("UPDATE audit.Log SET Body = @P1 WHERE Id = @P2", ["varbinary(max)", "int"]),
        (
            "SELECT * FROM audit.Log WHERE Name LIKE @P1 AND Id IN (@P2, @P3)",
            ["nvarchar(128)", "int", "int"],
        ),
        (" EXEC audit.usp_Add @P1,@P2  ", ["nvarchar(128)", "int"]),
        (
            "SELECT TOP (@P1) * FROM audit.Log WHERE At BETWEEN @P2 AND @P3",
            ["bigint", "datetime2(3)", "datetime2(3)"],
        ),
        ("END CONVERSATION @P1", ["uniqueidentifier"]),
    ],
)
def test_undeclared_parameters_take_the_type_of_their_place(session, text, types):
    found = ask(session, f"EXEC sp_describe_undeclared_parameters N'{text}'")
    assert len(found.columns) == 24
    assert [r["suggested_system_type_name"] for r in found.dicts()] == types


def test_a_view_says_the_types_of_its_columns(session):
    session.execute("CREATE VIEW audit.Shown AS SELECT CONVERT(varbinary(max), NULL) AS b").ok()
    found = ask(
        session,
        "EXEC sp_describe_undeclared_parameters N'INSERT INTO audit.Shown (b) VALUES (@P1)'",
    ).dicts()
    session.execute("DROP VIEW audit.Shown").ok()
    assert [r["suggested_system_type_name"] for r in found] == ["varbinary(max)"]


def test_a_place_without_a_type_is_an_error_so_that_the_driver_falls_back(session):
    answer = session.execute("EXEC sp_describe_undeclared_parameters N'SELECT @P1'")
    assert answer.error().number == 11502


def test_helptext_gives_the_text_line_by_line(session):
    found = ask(session, "sp_helptext N'audit.usp_Add'").rows
    assert "".join(line for (line,) in found).endswith("END")
    assert session.execute("sp_helptext N'audit.Nope'").error().number == 15009


@pytest.mark.parametrize("name", ["sp_dboption", "xp_cmdshell 'x'"])
def test_what_is_not_supported_is_refused_by_name(session, name):
    error = session.execute(f"EXEC {name}").error()
    assert error.number == 60001 and name.split()[0] in error.text

"""What ODBC and JDBC ask about rights and about columns that identify a row."""

import pytest


def ask(session, text):
    answer = session.execute(text)
    assert not answer.errors, answer.errors
    return answer.result_sets[0]


def test_the_owner_has_every_right_and_others_what_was_granted(session):
    session.execute("CREATE USER reader WITHOUT LOGIN; CREATE USER writer WITHOUT LOGIN;")
    session.execute("GRANT SELECT ON audit.Log TO reader; DENY INSERT ON audit.Log TO reader;")
    session.execute("GRANT UPDATE ON audit.Log TO writer WITH GRANT OPTION;")
    found = ask(session, "sp_table_privileges N'L%', N'audit'")
    assert [column.name for column in found.columns] == [
        *("TABLE_QUALIFIER", "TABLE_OWNER", "TABLE_NAME", "GRANTOR", "GRANTEE", "PRIVILEGE"),
        "IS_GRANTABLE",
    ]
    assert [row[3:] for row in found.rows] == [
        ("audit", "dbo", "DELETE", "YES"),
        ("audit", "dbo", "INSERT", "YES"),
        ("audit", "dbo", "REFERENCES", "YES"),
        ("audit", "dbo", "SELECT", "YES"),
        ("audit", "reader", "SELECT", "NO"),
        ("audit", "dbo", "UPDATE", "YES"),
        ("audit", "writer", "UPDATE", "YES"),
    ]


def test_without_patterns_a_table_is_meant_by_its_exact_name(session):
    assert ask(session, "sp_table_privileges N'L%', @fUsePattern = 0").rows == []


def test_a_right_on_one_column_is_a_right_on_that_column_only(session):
    session.execute("CREATE USER reader WITHOUT LOGIN; GRANT SELECT ON audit.Log (Id) TO reader;")
    found = ask(session, "sp_column_privileges N'Log', N'audit', NULL, N'%d'").rows
    assert [row[3:] for row in found if row[5] == "reader"] == [
        ("Id", "audit", "reader", "SELECT", "NO")
    ]
    assert {row[3] for row in found} == {"Id"}


@pytest.mark.parametrize("name", ["", "_90", "_100"])
def test_the_primary_key_identifies_a_row(session, name):
    found = ask(session, f"sp_special_columns{name} @table_name = N'Log', @table_owner = N'audit'")
    assert found.rows == [(0, "Id", 4, "int identity", 10, 4, 0, 1)]


def test_without_a_primary_key_a_unique_index_does_and_nullable_only_on_demand(session):
    session.execute("CREATE TABLE u (a int NULL, b int NULL); CREATE UNIQUE INDEX i ON u (b);")
    assert [row[1] for row in ask(session, "sp_special_columns u").rows] == ["b"]
    assert ask(session, "sp_special_columns u, @nullable = 'O'").rows == []


def test_the_column_a_server_changes_by_itself_is_the_rowversion(session):
    found = ask(session, "sp_special_columns N'Log', N'audit', @col_type = 'V'").rows
    assert [row[1] for row in found] == ["Version"]


def test_numbers_are_counted_in_spt_values(one, session):
    for name in ("master..spt_values", "master.dbo.spt_values"):
        assert one(f"SELECT SUM(number) FROM {name} WHERE type = 'P' AND number < 10") == 45
    assert one("SELECT COUNT(*) FROM master..spt_values WHERE type = N'P'") == 2048
    assert session.execute("SELECT * FROM spt_values").error().number == 208
    assert session.execute("USE master SELECT number FROM spt_values").error() is None


def test_the_bits_of_a_string_of_bytes_are_read_through_spt_values(rows):
    text = """SELECT number FROM master.dbo.spt_values
        WHERE type = 'P' AND SUBSTRING(0x0502, low, 1) & high > 0 ORDER BY number"""
    assert rows(text) == [(0,), (2,), (9,)]


def test_the_files_of_all_databases_are_in_master_files(rows, one):
    assert one("SELECT physical_name FROM sys.master_files WHERE database_id = 1 AND type = 0")
    assert rows(
        "SELECT name, type_desc FROM sys.master_files WHERE database_id = DB_ID(N'App')"
    ) == rows("SELECT name, type_desc FROM sys.database_files")


def test_a_login_without_rights_sees_no_file(session):
    session.execute("CREATE LOGIN few WITH PASSWORD = N'Aa1!aaaaaaaa'; CREATE USER few;")
    text = "EXECUTE AS LOGIN = N'few'; SELECT COUNT(*) FROM sys.master_files"
    assert session.execute(text).one() == 0


def test_formatmessage_takes_the_number_of_a_message(one, session):
    session.execute("EXEC sp_addmessage 50020, 16, N'Order %s has %d lines.'")
    assert one("SELECT FORMATMESSAGE(50020, N'A', 3)") == "Order A has 3 lines."
    assert one("SELECT FORMATMESSAGE(50021, N'A')") is None
    assert one("SELECT FORMATMESSAGE(208, N'A')") is None

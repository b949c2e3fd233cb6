"""sysobjects, sysdatabases, and what else scripts of SQL Server 2000 and 2005 ask the catalog."""

import pytest

from tests.broker.exec.lab import Lab


def test_sysobjects_lists_objects_under_their_old_names(rows):
    found = {
        r[0]: r[1:]
        for r in rows(
            "SELECT name, xtype, type, USER_NAME(uid), OBJECT_NAME(parent_obj) FROM sysobjects"
        )
    }
    assert found["Log"][:2] == ("U ", "U ")
    assert found["PK_Log"][:2] == ("PK", "K ")
    assert found["PK_Log"][3] == "Log"


@pytest.mark.parametrize("name", ["sysobjects", "dbo.sysobjects", "sys.sysobjects"])
def test_an_old_system_table_is_found_without_a_schema_and_under_dbo(rows, name):
    assert rows(f"SELECT COUNT(*) FROM {name} WHERE id = OBJECT_ID('audit.Log')") == [(1,)]


def test_a_users_own_table_of_that_name_comes_first(session, rows):
    session.execute("CREATE TABLE dbo.sysobjects (a int)").ok()
    assert rows("SELECT COUNT(*) FROM sysobjects") == [(0,)]


def test_sysdatabases_is_read_across_databases(rows):
    found = rows("SELECT name, dbid, cmptlevel FROM master.dbo.sysdatabases WHERE dbid <= 2")
    assert found == [("master", 1, 160), ("tempdb", 2, 160)]


def test_bits_that_no_page_explains_are_refused(session):
    assert session.execute("SELECT status FROM master..sysdatabases").error().number == 207


def test_full_text_search_is_not_installed(rows):
    assert rows(
        "SELECT FULLTEXTSERVICEPROPERTY('IsFullTextInstalled'), "
        "FULLTEXTSERVICEPROPERTY('LoadOSResources')"
    ) == [(0, None)]


def test_the_vardecimal_format_is_on_and_cannot_be_changed(session):
    session.execute("EXEC sys.sp_db_vardecimal_storage_format N'master', N'OFF'").ok()
    answer = session.execute("EXEC sp_db_vardecimal_storage_format 'master'")
    assert answer.rows() == [("master", "ON")]
    missing = session.execute("EXEC sp_db_vardecimal_storage_format 'nowhere', 'ON'")
    assert missing.error().number == 911


def test_checks_and_the_columns_of_constraints_in_information_schema():
    """Their pages; mappers of objects read them."""
    lab = Lab()
    lab.run("CREATE TABLE dbo.p (k int NOT NULL CONSTRAINT pk_p PRIMARY KEY)")
    lab.run(
        "CREATE TABLE dbo.c (a int CONSTRAINT fk_c REFERENCES dbo.p, "
        "b int CONSTRAINT ck_c CHECK (b > 0))"
    )
    assert lab.rows(
        "SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS"
    ) == [("ck_c", "(b > 0)")]
    assert lab.rows(
        "SELECT TABLE_NAME, COLUMN_NAME, CONSTRAINT_NAME "
        "FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE ORDER BY 3"
    ) == [("c", "b", "ck_c"), ("c", "a", "fk_c"), ("p", "k", "pk_p")]


def test_a_message_type_names_its_collection():
    lab = Lab()
    lab.run("""CREATE XML SCHEMA COLLECTION dbo.x AS
        N'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>'""")
    lab.run(
        "CREATE MESSAGE TYPE [m] VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.x; "
        "CREATE MESSAGE TYPE [n]"
    )
    assert (
        lab.value(
            "SELECT COUNT(*) FROM sys.message_type_xml_schema_collection_usages AS u "
            "JOIN sys.service_message_types AS t ON t.message_type_id = u.message_type_id "
            "AND t.xml_collection_id = u.xml_collection_id WHERE t.name = 'm'"
        )
        == 1
    )


def test_documented_views_are_refused_by_name_and_others_are_not_there():
    lab = Lab()
    assert "DOMAINS" in lab.refusal("SELECT * FROM INFORMATION_SCHEMA.DOMAINS")
    assert lab.error("SELECT * FROM INFORMATION_SCHEMA.NOBODYS") == 208

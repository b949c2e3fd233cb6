"""Extended properties: version stamps."""

import pytest

STAMP = (
    "EXEC sp_addextendedproperty @name = N'Redial', @value = N'1.0', @level0type = N'SCHEMA', "
    "@level0name = N'audit', @level1type = N'PROCEDURE', @level1name = N'usp_Add'"
)


def test_a_stamp_on_a_procedure_can_be_read_back(session, rows):
    assert not session.execute(STAMP).errors
    ((name, value),) = rows(
        "SELECT name, value FROM sys.extended_properties WHERE class = 1 AND "
        "major_id = OBJECT_ID('audit.usp_Add')"
    )
    assert (name, value.value) == ("Redial", "1.0")


def test_adding_twice_is_an_error_and_updating_is_not(session, one):
    session.execute(STAMP)
    assert session.execute(STAMP).error().number == 15233
    update = STAMP.replace("sp_add", "sp_update").replace("1.0", "2.0")
    assert not session.execute(update).errors
    assert one("SELECT value FROM sys.extended_properties") == "2.0"


def test_a_property_goes_with_its_object(session, rows):
    session.execute(STAMP)
    session.execute("DROP PROCEDURE audit.usp_Add")
    assert rows("SELECT * FROM sys.extended_properties") == []


def test_a_property_survives_an_alter_and_is_undone_by_a_rollback(session, rows):
    session.execute(STAMP)
    session.execute("CREATE OR ALTER PROCEDURE audit.usp_Add AS RETURN 0")
    assert len(rows("SELECT * FROM sys.extended_properties")) == 1
    session.execute(
        "BEGIN TRAN; EXEC sp_dropextendedproperty N'Redial', N'SCHEMA', N'audit', "
        "N'PROCEDURE', N'usp_Add'; ROLLBACK"
    )
    assert len(rows("SELECT * FROM sys.extended_properties")) == 1


def test_the_database_and_columns_can_carry_properties(session, rows):
    session.execute("EXEC sp_addextendedproperty N'Owner', N'me'")
    session.execute(
        "EXEC sp_addextendedproperty N'MS_Description', N'when', N'SCHEMA', N'audit', "
        "N'TABLE', N'Log', N'COLUMN', N'At'"
    )
    assert rows("SELECT class, minor_id FROM sys.extended_properties ORDER BY class") == [
        (0, 0),
        (1, 5),
    ]


def test_a_missing_object_or_property_is_named(session):
    missing = session.execute(
        "EXEC sp_addextendedproperty N'a', N'b', N'SCHEMA', N'audit', N'TABLE', N'Nope'"
    )
    assert missing.error().number == 15135 and "Nope" in missing.error().text
    assert session.execute("EXEC sp_dropextendedproperty N'a'").error().number == 15217


def test_sqlalchemys_first_question_has_an_answer(session, rows):
    assert (
        rows(
            "SELECT 1 FROM fn_listextendedproperty(default, default, default, default, "
            "default, default, default)"
        )
        == []
    )
    session.execute(STAMP)
    ((kind, name, stamp, value),) = rows(
        "SELECT * FROM fn_listextendedproperty(N'Redial', N'SCHEMA', N'audit', N'PROCEDURE', "
        "N'usp_Add', NULL, NULL)"
    )
    assert (kind, name, stamp, value.value) == ("PROCEDURE", "usp_Add", "Redial", "1.0")


@pytest.mark.parametrize(
    ("rights", "number"),
    [
        ("ALTER ROLE db_owner ADD MEMBER somebody;", None),
        ("GRANT CONTROL ON TYPE::dbo.Batch TO somebody;", None),
        ("GRANT REFERENCES ON TYPE::dbo.Batch TO somebody;", 15135),
        ("", 15135),
    ],
)
def test_a_property_of_a_type_is_for_who_controls_it(session, rights, number):
    """ALTER or CONTROL, says the page of sp_addextendedproperty, and a type has no ALTER."""
    session.execute("CREATE TYPE dbo.Batch AS TABLE (a int);").ok()
    session.execute(f"CREATE USER somebody WITHOUT LOGIN; {rights}").ok()
    session.execute("EXECUTE AS USER = N'somebody';").ok()
    out = session.execute(
        "EXECUTE sys.sp_addextendedproperty N'Redial', N'1.0', N'SCHEMA', N'dbo', N'TYPE', N'Batch';"
    )
    assert [error.number for error in out.errors] == ([number] if number else [])

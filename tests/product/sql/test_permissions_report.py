"""permissions_report.sql: who may do what, as one result set a DBA can put in a ticket."""

from __future__ import annotations

import pytest

from redial.config.choices import Signing
from tests.installed import rendered, split

from .lab import AUDIT, Lab, configured


def report(lab: Lab, config=AUDIT, as_user: str = "") -> list[tuple]:
    """(who, through, permission, state, securable, meaning) of every row."""
    text = rendered(config)["permissions_report.sql"]
    sql = [batch.sql for batch in split(text)][-1]
    if as_user:
        sql = f"EXECUTE AS USER = N'{as_user}'; {sql}; REVERT;"
    return [(row[2], *row[4:]) for row in lab.rows(sql)]


@pytest.fixture(scope="module")
def lab() -> Lab:
    made = Lab()
    made.sa.execute(
        "CREATE USER app WITHOUT LOGIN; CREATE USER ops WITHOUT LOGIN; CREATE USER odd WITHOUT "
        "LOGIN; CREATE ROLE [night]]watch]; ALTER ROLE audit_sender ADD MEMBER app; "
        "ALTER ROLE audit_operator ADD MEMBER [night]]watch]; ALTER ROLE [night]]watch] ADD MEMBER "
        "ops; GRANT IMPERSONATE ON USER::audit_module TO odd; GRANT SELECT ON SCHEMA::audit TO "
        "public; DENY SELECT ON audit.Landing TO odd; ALTER ROLE db_datareader ADD MEMBER odd; "
        "GRANT ALTER ON OBJECT::audit.usp_Send TO odd;"
    )
    return made


@pytest.mark.parametrize(
    "row",
    [
        ("sa", "database owner (dbo)", "ALL", "OWNER"),
        ("audit_module", "owner", "ALL", "OWNER"),
        ("app", "role [audit_sender]", "EXECUTE", "GRANT"),
        ("ops", "role [audit_operator]", "EXECUTE", "GRANT"),
        ("night]watch", "role [audit_operator]", "-", "MEMBER"),
        ("odd", "granted directly", "IMPERSONATE", "GRANT"),
        ("odd", "granted directly", "SELECT", "DENY"),
        ("odd", "role [db_datareader]", "db_datareader", "MEMBER"),
        ("public", "granted directly", "SELECT", "GRANT"),
    ],
)
def test_every_way_to_a_right_has_its_row(lab, row):
    assert row in {each[:4] for each in report(lab)}


def test_a_module_user_in_db_owner_has_a_row():
    lab = Lab(configured(roles={"module_is_db_owner": True}))
    member = ("audit_module", "role [db_owner]", "ALL", "MEMBER")
    assert member in {each[:4] for each in report(lab)}


def test_rights_that_reach_further_than_they_read_are_explained(lab):
    meanings = {(who, right): meaning for who, _, right, _, _, meaning in report(lab)}
    assert "act as the module user" in meanings["odd", "IMPERSONATE"]
    assert "everybody" in meanings["public", "SELECT"]
    assert "text" in meanings["odd", "ALTER"]


def test_the_application_has_what_usp_send_needs_and_no_more(lab):
    rights = {
        (right, what)
        for who, _, right, state, what, _ in report(lab)
        if who == "app" and state == "GRANT"
    }
    assert ("EXECUTE", "sql stored procedure [audit].[usp_Send]") in rights
    assert {right for right, _ in rights} <= {"EXECUTE", "SELECT", "INSERT"}
    assert not [what for _, what in rights if "table" in what and "type" not in what]


def test_it_changes_nothing(lab):
    before = lab.rows("SELECT COUNT(*) FROM sys.database_permissions;")
    assert report(lab) == report(lab)
    assert lab.rows("SELECT COUNT(*) FROM sys.database_permissions;") == before


def test_a_reader_who_sees_a_part_only_is_told_so(lab):
    first = report(lab, as_user="app")[0]
    assert first[0] == "app" and first[3] == "INCOMPLETE"
    assert report(lab)[0][3] != "INCOMPLETE"


def test_with_signing_each_signed_procedure_has_a_row_and_the_module_user_none_in_db_owner():
    config = configured(security={"signing": Signing.CERTIFICATE})
    rows = report(Lab(config), config)
    signed = [row for row in rows if row[3] == "SIGNED"]
    assert {row[0] for row in signed} == {row[0] for row in rows if row[1] == "role [db_owner]"}
    assert {"[audit].[ufn_Pending]", "[audit].[usp_SeesPending]"} <= {
        row[4].rpartition(" ")[2] for row in signed
    }
    assert ("audit_module", "role [db_owner]", "ALL", "MEMBER") not in {row[:4] for row in rows}

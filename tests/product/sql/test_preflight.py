"""05_preflight: what must be right before anything is done, and all that is wrong in one error."""

from __future__ import annotations

import re

import pytest

from tests.installed import rendered, split

from .lab import AUDIT, configured
from .two import SHOP, Two


@pytest.fixture
def bare() -> Two:
    """A database with nothing in it but a deployer without rights."""
    two = Two(deployed=False)
    two.run("CREATE USER deployer WITHOUT LOGIN;")
    return two


def check(bare: Two, config=AUDIT, user: str = "deployer") -> tuple[int, str]:
    """Number and text of the refusal; (0, '') when there is none."""
    (batch,) = [
        b.sql for b in split(rendered(config)["05_preflight.check.sql"]) if "DECLARE" in b.sql
    ]
    as_user = f"EXECUTE AS USER = N'{user}'; " if user else ""
    errors = bare.instance.connect(SHOP).execute(as_user + batch).errors
    return (errors[0].number, errors[0].text) if errors else (0, "")


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        ("", "CREATE TABLE"),
        ("ALTER ROLE db_ddladmin ADD MEMBER deployer;", "CREATE ROLE, ALTER ANY USER"),
        ("ALTER ROLE db_securityadmin ADD MEMBER deployer;", "CREATE QUEUE"),
        (
            "GRANT CONTROL TO deployer; CREATE USER audit_module WITHOUT LOGIN; "
            "ALTER ROLE db_owner ADD MEMBER audit_module;",
            "membership in db_owner (only members change that role, and this configuration takes",
        ),
    ],
)
def test_a_missing_right_is_named_with_the_next_step(bare, rights, missing):
    if rights:
        bare.run(rights)
    number, text = check(bare)
    assert number == 50200
    assert missing in text and "[deployer]" in text and "[shop]" in text
    assert "Next: " in text and "ALTER ROLE [db_owner] ADD MEMBER [deployer]" in text


def test_nothing_is_done_before_it_is_asked():
    files = list(rendered(AUDIT))
    assert files[0] == "05_preflight.check.sql"


def test_a_member_of_db_owner_and_the_owner_may_deploy(bare):
    assert check(bare, user="") == (0, "")
    bare.run("ALTER ROLE db_owner ADD MEMBER deployer;")
    assert check(bare) == (0, "")


def test_control_is_enough_where_no_membership_has_to_change(bare):
    bare.run("GRANT CONTROL TO deployer;")
    assert check(bare) == (0, "")
    member = configured(roles={"module_is_db_owner": True})
    number, text = check(bare, member)
    assert number == 50200 and "this configuration adds one" in text
    bare.run("CREATE USER audit_module WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER audit_module;")
    assert check(bare, member) == (0, "")


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("CREATE ROLE audit_module;", "[roles].module [audit_module] is a database role"),
        (
            "CREATE LOGIN audit_module WITH PASSWORD = N'Some-Word-1'; CREATE USER audit_module;",
            "[roles].module [audit_module] is a sql user",
        ),
        ("CREATE USER audit_sender WITHOUT LOGIN;", "[roles].sender [audit_sender] is a sql user"),
        ("CREATE USER audit_reader WITHOUT LOGIN; CREATE ROLE audit_module;", "[roles].reader"),
    ],
)
def test_a_principal_of_the_wrong_kind_is_refused_by_name(bare, there, said):
    bare.run(there)
    number, text = check(bare, user="")
    assert number == 50202 and said in text and "Next: " in text


@pytest.mark.parametrize("role", ["db_owner", "public", "db_datareader"])
def test_fixed_roles_are_nobodys_to_grant_to(bare, role):
    assert check(bare, configured(roles={"sender": role}), user="")[0] == 50202
    number, text = check(bare, configured(roles={"module": "dbo"}), user="")
    assert number == 50221  # it owns a schema as well, and both are told
    assert "[roles].module [dbo] is a sql user" in text and "owns schema [dbo]" in text


def test_a_module_user_of_two_configurations_is_refused(bare):
    """One principal each: the owner of two could end the conversations of both."""
    bare.run("CREATE USER audit_module WITHOUT LOGIN;")
    bare.run("CREATE SCHEMA orders AUTHORIZATION audit_module;")
    number, text = check(bare, user="")
    assert number == 50203 and "[orders]" in text


def test_hostile_names_of_principals_do_not_break_out(bare):
    names = {
        "module": "m]'; DROP USER dbo --",
        "sender": "s''\"]]",
        "operator": "100% o]p",
        "reader": "r%s[d]",
    }
    config = configured(roles=names)
    assert check(bare, config, user="") == (0, "")
    bare.run("CREATE ROLE [m]]'; DROP USER dbo --];")
    number, text = check(bare, config, user="")
    assert number == 50202 and "m]]'; DROP USER dbo --" in text


@pytest.mark.parametrize("name", ["05_preflight.check.sql", "permissions_report.sql"])
def test_no_catalog_text_of_a_fixed_collation_meets_a_name_of_the_database(name):
    """type_desc is Latin1_General_CI_AS_KS_WS, names of services are binary, names of objects have
    the database's collation: a server refuses them in one CONCAT or UNION (468, 451) at compile
    time. The embedded broker has one collation, so the text is looked at."""
    text = rendered(AUDIT)[name]
    assert re.findall(r"CONCAT\([^;]*?type_desc(?! COLLATE DATABASE_DEFAULT),", text) == []
    assert re.findall(r"QUOTENAME\((?:s|sc|mt)\.name\)\)\nFROM sys\.service", text) == []

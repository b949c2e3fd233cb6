"""blocking.sql: an administrator runs it once, and operators see who keeps others waiting."""

from __future__ import annotations

import pytest

from tests.installed import rendered, split
from tests.product.deploy.by_hand import Site

from .lab import Client, Lab, configured, send

PASSWORD = "Redial-2026x"
KEYED = configured(conversation={"key": "application"})
FORGOTTEN = send("0x01", key="N'a'")


def run_script(client: Client, *, remove: bool = False, config=KEYED) -> None:
    text = rendered(config)["blocking.sql"]
    if remove:
        assert "DECLARE @remove bit = 0;" in text
        text = text.replace("DECLARE @remove bit = 0;", "DECLARE @remove bit = 1;")
    for batch in split(text):
        client.execute(batch.sql)


def somebody_of(lab: Lab) -> Client:
    """An operator, where no administrator's session is left."""
    lab.sa = Client(lab)
    return somebody(lab, "ops", "audit_operator")


def somebody(lab: Lab, name: str, role: str = "") -> Client:
    """A login of its own, with its user."""
    lab.sa.execute(
        f"CREATE LOGIN {name} WITH PASSWORD = N'{PASSWORD}'; CREATE USER {name} FOR LOGIN {name};"
        + (f"ALTER ROLE {role} ADD MEMBER {name};" if role else "")
    )
    client = Client.__new__(Client)
    client.lab, client.session = lab, lab.instance.login(name, PASSWORD, "lab")
    return client


@pytest.fixture
def lab() -> Lab:
    """One holds a key's row in an open transaction, another waits for it."""
    lab = Lab(KEYED)
    Client(lab).execute(FORGOTTEN)
    Client(lab).execute("BEGIN TRANSACTION; " + FORGOTTEN)
    Client(lab).submit(FORGOTTEN)
    lab.advance(30)
    return lab


def seen(client: Client) -> list[str]:
    """Who blocks; or what could not be looked at."""
    rows = client.execute("EXECUTE audit.usp_Health;")
    found = [r[2] for r in rows if r[7] == "blocking"]
    return found or [r[4] for r in rows if r[7] == "not-looked-at" and "keeps others" in r[2]]


def test_an_operator_sees_the_session_that_blocks_without_any_right_on_the_server(lab):
    ops = somebody(lab, "ops", "audit_operator")
    [before] = seen(ops)
    assert "blocking.sql" in before and "VIEW SERVER STATE" in before
    run_script(lab.sa)
    [who] = seen(ops)
    assert who.startswith("session ") and "login sa" in who
    assert seen(lab.sa) == [who]
    assert ops.execute("SELECT HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE');") == [(0,)]


def test_it_can_be_run_again_and_taken_away(lab):
    ops = somebody(lab, "ops", "audit_operator")
    run_script(lab.sa)
    run_script(lab.sa)
    assert seen(ops)[0].startswith("session ")
    run_script(lab.sa, remove=True)
    assert "blocking.sql" in seen(ops)[0]
    left = (
        "SELECT name FROM master.sys.certificates WHERE name LIKE N'redial%' UNION ALL "
        "SELECT name FROM sys.server_principals WHERE name LIKE N'redial%' UNION ALL "
        "SELECT name FROM sys.objects WHERE name LIKE N'redial%' UNION ALL "
        "SELECT name FROM sys.certificates WHERE name LIKE N'redial%';"
    )
    assert lab.rows(left) == []


def test_whoever_changes_the_procedure_has_lost_its_right(lab):
    ops = somebody(lab, "ops", "audit_operator")
    run_script(lab.sa)
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'dbo.redial_audit_sessions'));")
    somebody(lab, "owner", "db_owner").execute(text.replace("CREATE PROCEDURE", "ALTER PROCEDURE"))
    [why] = seen(ops)
    assert "This part of the report failed" in why


def test_a_deployment_leaves_it_alone_and_verify_has_nothing_against_it(lab):
    lab = Lab(KEYED)
    run_script(lab.sa)
    site = Site(lab)
    assert site.findings() == []
    lab.instance.disconnect(lab.sa.session)
    assert site.deploy()
    ops = somebody_of(lab)
    assert seen(ops) == [] and site.findings() == []


def test_nobody_can_log_in_as_its_login_or_sign_anything_else(lab):
    run_script(lab.sa)
    assert lab.rows(
        "SELECT type_desc, is_disabled FROM sys.server_principals WHERE name = N'redial_audit_sessions_lab';"
    ) == [("CERTIFICATE_MAPPED_LOGIN", 0)]
    assert lab.rows(
        "SELECT pvt_key_encryption_type_desc FROM sys.certificates WHERE name = N'redial_audit_sessions';"
    ) == [("NO_PRIVATE_KEY",)]


def test_who_is_no_operator_may_not_call_it(lab):
    run_script(lab.sa)
    stranger = somebody(lab, "stranger")
    stranger.submit("EXECUTE dbo.redial_audit_sessions;")
    assert [error.number for error in stranger.errors] == [229]


def test_only_an_administrator_can_run_it_and_only_where_it_is_installed(lab):
    owner = somebody(lab, "owner", "db_owner")
    with pytest.raises(AssertionError, match="Only a member of sysadmin"):
        run_script(owner)
    lab.sa.execute("CREATE DATABASE other;")
    with pytest.raises(AssertionError, match="USE the database that configuration audit is in"):
        run_script(Client(lab, "other"))
    assert lab.rows("SELECT 1 FROM sys.server_principals WHERE name LIKE N'redial%';") == []

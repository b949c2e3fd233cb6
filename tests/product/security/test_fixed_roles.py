"""What the fixed roles of a database can become through our objects: rights on our schema, no more.

Roles beside db_owner that are given to developers and helpers: db_ddladmin may ALTER every module,
db_securityadmin may grant and add members, db_accessadmin may change users, db_datawriter may write
every row. The control is the same in a database where nothing is installed.
"""

from __future__ import annotations

import pytest

from redial.config.choices import Signing
from tests.product.sql.bare import Bare, installation, removal
from tests.product.sql.lab import AUDIT, Lab, configured, send

from .climbing import CALLERS, Climb, altered

FIXED = ("db_ddladmin", "db_securityadmin", "db_accessadmin", "db_datawriter")
VARIANTS = {"none": AUDIT, "certificate": configured(security={"signing": Signing.CERTIFICATE})}
OWNER = configured(roles={"module_is_db_owner": True})


def installed(config, role: str) -> Climb:
    """Deployed and at work, with callers in our roles."""
    made = Climb(Lab(config), role, "audit", "audit_module")
    for user, ours in zip(CALLERS, ("sender", "operator", "reader"), strict=True):
        made.lab.sa.execute(f"ALTER ROLE audit_{ours} ADD MEMBER {user};")
    return made


HAS = (
    "(SELECT COUNT(*) FROM sys.parameters AS x WHERE x.object_id = o.object_id AND x.name = N'{}')"
)


def at_work(climb: Climb) -> None:
    """Senders send, activation runs, operators call everything they may, and look at every view."""
    for who in CALLERS:
        client = climb.act(who)
        for _ in range(2):
            client.submit(send("0x01"))
        for name, right, reason, what_if in climb.lab.rows(
            f"SELECT o.name, p.permission_name, {HAS.format('@reason')}, {HAS.format('@WhatIf')} "
            "FROM sys.database_permissions AS p "
            "INNER JOIN sys.objects AS o ON o.object_id = p.major_id WHERE p.class = 1 "
            f"AND IS_ROLEMEMBER(USER_NAME(p.grantee_principal_id), N'{who}') = 1;"
        ):
            given = ", ".join(["@reason = N'x'"] * reason + ["@WhatIf = 0"] * what_if)
            client.submit(
                f"EXECUTE audit.[{name}] {given};"
                if right == "EXECUTE"
                else f"SELECT * FROM audit.[{name}];"
            )
            if not client.out.finished:
                climb.lab.advance(30)
            client.submit("IF @@TRANCOUNT > 0 ROLLBACK;")
        climb.lab.advance(60)
    climb.lab.advance(1200)


def everything(rights: dict[str, set]) -> set:
    return set().union(*rights.values())


@pytest.fixture(scope="module", params=FIXED)
def control(request) -> tuple[str, set]:
    """A role, and what its member and a friend may do where nothing is installed."""
    climb = Climb(Bare(), request.param, "dbo", "climber")
    for who in ("climber", "friend", "climber"):
        climb.attack(who)
    return request.param, everything(climb.rights())


def alter_all(climb: Climb, who: str, inner: bool) -> dict[str, str]:
    """One line more in every procedure, with the best EXECUTE AS clause that is allowed.

    inner: of those only that have none, and so run as who calls them."""
    client, done = climb.act(who), {}
    for name, text in climb.lab.rows(
        "SELECT o.name, m.definition FROM sys.sql_modules AS m "
        "INNER JOIN sys.objects AS o ON o.object_id = m.object_id "
        "WHERE o.type = 'P' AND SCHEMA_NAME(o.schema_id) = N'audit' AND o.name NOT LIKE N'zz%';"
    ):
        if inner and "WITH EXECUTE AS" in text:
            continue
        for clause in (
            "WITH EXECUTE AS N'dbo'",
            "WITH EXECUTE AS OWNER",
            f"WITH EXECUTE AS N'{climb.module}'",
            "",
        ):
            client.submit(altered(text, name, clause))
            if not client.errors:
                done[name] = clause
                break
    return done


def climbed(config, role: str) -> tuple[Climb, dict[str, str]]:
    """All attacks, by whoever was reached, with our senders, readers and operators at work between."""
    climb = installed(config, role)
    climb.lab.sa.execute(send("0x01"))
    done = alter_all(climb, "climber", inner=True)
    at_work(climb)
    done |= alter_all(climb, "climber", inner=False)  # senders cannot send any more
    at_work(climb)
    for who in ("climber", "friend", climb.module, "climber", "friend"):
        if who in climb.reached():
            climb.attack(who)
    at_work(climb)
    assert climb.refused > 100
    return climb, done


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_more_than_rights_on_our_own_schema(control, variant):
    role, anywhere = control
    climb, _ = climbed(VARIANTS[variant], role)
    found = climb.rights()
    assert "dbo" not in found
    for who, rights in found.items():
        assert rights <= anywhere, (who, rights - anywhere)


def test_who_may_alter_becomes_the_module_user_and_that_is_all():
    """The test above is no empty one: lines of theirs do run, in what activation starts too."""
    climb, done = climbed(AUDIT, "db_ddladmin")
    assert set(done.values()) == {""}, "with a clause it takes IMPERSONATE"
    assert len(done) > 40
    assert climb.reached() == {"climber", "friend", "audit_module"}
    ran = {
        by
        for who, by in climb.lab.rows("SELECT Who, ByWhat FROM dbo.Loot;")
        if who == "audit_module"
    }
    assert {"usp_ArmTimer", "usp_EndTarget", "usp_EndInitiator", "usp_MoveCopies"} <= ran


@pytest.mark.parametrize("role", ["db_ddladmin", "db_securityadmin"])
def test_a_module_user_in_db_owner_is_found(role):
    """What the default was: the measure sees it."""
    climb, _ = climbed(OWNER, role)
    assert ("role", "db_owner") in everything(climb.rights())


def test_nobody_becomes_a_user_by_changing_where_he_logs_in():
    """ALTER USER page: a user without login is remapped by nobody."""
    climb = installed(AUDIT, "db_accessadmin")
    climb.attack("climber")
    assert not [sql for sql in climb.done if "WITH LOGIN" in sql]
    assert climb.lab.sa.fail("ALTER USER audit_module WITH LOGIN = spare;") == 33016


HOSTILE = (
    "x'; ALTER ROLE db_owner ADD MEMBER climber; --",
    "x]; ALTER ROLE db_owner ADD MEMBER climber; --",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_out_of_a_table_runs(text):
    """db_datawriter writes it into every column; then all work, whoever deploys deploys and removes."""
    climb = installed(AUDIT, "db_datawriter")
    lab, client = climb.lab, climb.act("climber")
    at_work(climb)
    written = 0
    for table, column, length in lab.rows(
        "SELECT t.name, c.name, c.max_length / 2 FROM sys.tables AS t "
        "INNER JOIN sys.columns AS c ON c.object_id = t.object_id "
        "INNER JOIN sys.types AS y ON y.user_type_id = c.user_type_id "
        "WHERE SCHEMA_NAME(t.schema_id) = N'audit' AND y.name IN (N'nvarchar', N'sysname') "
        "ORDER BY t.name, c.column_id;"
    ):
        value = text.replace("'", "''") if length < 0 or length >= len(text) else "x"
        client.submit(f"UPDATE audit.[{table}] SET [{column}] = N'{value}';")
        written += not client.errors
    assert written > 20
    value = text.replace("'", "''")
    for kind in ("AGENT JOB", "AGENT ALERT", value):
        client.submit(
            f"INSERT INTO audit.OwnedObject (Kind, Name) VALUES (N'{kind[:60]}', N'{value}');"
        )
    at_work(climb)
    for batch in (*installation(AUDIT), *removal(AUDIT)):
        lab.sa.submit(batch)
        if not lab.sa.out.finished:
            lab.advance(200)
    assert lab.rows("SELECT IS_ROLEMEMBER(N'db_owner', N'climber');") == [(0,)]

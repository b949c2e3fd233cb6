"""Tables from before the migrations, with rows and live conversations, become today's."""

import hashlib
import re
from pathlib import Path

import pytest

from harness.render import render
from harness.render.renderer import SQL
from harness.tsql import split_batches
from tests.sampling import crash_stride

from . import catalog
from .bare import BEFORE, Bare, another, fresh_catalog, installation
from .lab import AUDIT, Client, send

LOCK = SQL / "migrations.lock"
OLD = [batch.sql for batch in split_batches(BEFORE.read_text(encoding="utf-8"))]


@pytest.fixture
def bare() -> Bare:
    """The installation of revision d4f2818 with a row in every table and live conversations."""
    bare = Bare()
    bare.run(OLD)
    bare.sa.execute(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, Body) "
        "VALUES (N'target', NEWID(), 5, 0xDD);"
        "INSERT INTO audit.ErrorLog (ProcedureName, ErrorNumber) VALUES (N'p', 1);"
        "INSERT INTO audit.PoisonAttempt VALUES (NEWID(), 0, N't', 1, SYSUTCDATETIME(), 1, N'm');"
    )
    return bare


def rows_kept(bare: Bare, before: dict[str, list[tuple]]) -> None:
    """Every row there was begins as it did; new columns come after the old."""
    after = bare.data("audit")
    for table, rows in before.items():
        now = after.get(table, [])
        for row in rows:
            assert any(other[: len(row)] == row for other in now), (table, row)


def test_today_s_scripts_over_tables_of_before_lose_nothing_and_end_as_a_fresh_installation(bare):
    """A.2 upgrades: numbered additive migrations beside live conversations."""
    clients = [Client(bare), Client(bare)]
    for number, client in enumerate(clients):
        client.execute(send(f"0x0{number}"))
    bare.advance(5)
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    for number, client in enumerate(clients):
        client.execute(send(f"0x1{number}"))
    before = bare.data("audit")
    before.pop("OwnedObject")
    history = before.pop("DeploymentHistory")
    bare.deploy(AUDIT)
    rows_kept(bare, before)
    assert bare.data("audit")["DeploymentHistory"][0] == history[0]
    for number, client in enumerate(clients):
        client.execute(send(f"0x2{number}"))
    assert bare.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(2,)]
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    bare.advance(60)
    assert sorted(bare.bodies()) == [b"\x00", b"\x01", b"\x10", b"\x11", b"\x20", b"\x21"]
    assert catalog.difference(fresh_catalog(AUDIT), bare.catalog()) == []
    bare.remove(AUDIT)
    assert catalog.difference(fresh_catalog(None), bare.catalog()) == []


def test_uninstall_of_today_takes_an_installation_of_before_away(bare):
    Client(bare).execute(send("0x01"))
    bare.remove(AUDIT)
    assert catalog.difference(fresh_catalog(None), bare.catalog()) == []


def test_a_change_of_choices_over_a_send_that_knows_no_gate_is_refused(bare):
    from .test_change import APPLICATION

    Client(bare).execute(send("0x01"))
    assert bare.stops(installation(APPLICATION)) == 50191
    bare.deploy(AUDIT)
    bare.deploy(APPLICATION)
    assert bare.bodies() == [b"\x01"]


@pytest.mark.parametrize(
    ("numbers", "stride"), [(range(1, 6), crash_stride(7)), (range(6, 7), crash_stride(11))],
    ids=["first five", "the sixth"])
def test_a_migration_killed_at_any_statement_is_finished_by_the_next_deployment(
    bare, capsys, numbers, stride
):
    """Killed after every N-th statement; migration 6 is one transaction around a loop over 25
    objects, so fewer stand for all.
    """
    batches = installation(AUDIT)
    first, *_, last = [n for n, sql in enumerate(batches)
                       if (found := re.search(r"Migration (\d+):", sql))
                       and int(found[1]) in numbers] * 2
    wanted = fresh_catalog(AUDIT)
    bare.run(batches[:first])
    before = bare.data("audit")
    before.pop("OwnedObject")
    start = bare.instance.snapshot()
    killed = 0
    while bare.killed_after(batches[first : last + 1], killed * stride):
        bare.deploy(AUDIT)
        assert catalog.difference(wanted, bare.catalog()) == [], killed
        rows_kept(bare, before)
        start.restore()
        bare.sa = Client(bare)
        killed += 1
    with capsys.disabled():
        print(f"\n{killed} places to kill a migration at, every {stride} statements: each "
              "deployment after it is whole")
    assert killed * stride > 70


FIXED = another(
    AUDIT, name="fixed", schema="fixed",
    roles={"module": "m", "sender": "s", "operator": "o", "reader": "r",
           "module_is_db_owner": True},
)  # fmt: skip
"""Whatever the shipped configuration becomes, migrations are compared as rendered for this one."""


def checksums() -> dict[str, str]:
    """Number and name of each migration, and what its text is for one configuration."""
    return {
        name.removesuffix(".migration.sql"): hashlib.sha256(text.encode()).hexdigest()
        for name, text in render(FIXED).items()
        if name.endswith(".migration.sql")
    }


def test_a_released_migration_never_changes_its_text():
    """Change what a migration did with a new one; a new one is entered in sql/migrations.lock."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    locked = dict(line.split()[::-1] for line in lines if line and not line.startswith("#"))
    missing = {f"{text}  {name}" for name, text in checksums().items() if name not in locked}
    assert missing == set(), "add these lines to sql/migrations.lock"
    assert {n: locked[n] for n in checksums()} == checksums()


def test_migrations_have_numbers_of_their_own_without_a_gap():
    files = sorted(p.name for p in (SQL / "templates" / "35_migrations").glob("*.migration.*"))
    assert [int(name[:2]) for name in files] == list(range(1, len(files) + 1))
    for name in files:
        text = (SQL / "templates" / "35_migrations" / name).read_text(encoding="utf-8")
        assert f"m.Number = {int(name[:2])})" in text
        assert not re.search(r"DROP (COLUMN|INDEX|TABLE)|ALTER COLUMN|TRUNCATE", text), name
    assert Path(LOCK).exists()

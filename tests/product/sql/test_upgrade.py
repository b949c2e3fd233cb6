"""Tables from before the migrations, with rows and live conversations, become today's."""

import hashlib
import re
from pathlib import Path

import pytest

from redial.paths import SQL, TEMPLATES
from redial.render import render
from redial.tsql import split_batches
from tests.sampling import crash_stride

from . import catalog
from .bare import (
    BEFORE,
    NO_COPIES,
    Bare,
    another,
    fresh_catalog,
    installation,
    removal,
)
from .lab import AUDIT, SHIPPED, Client, send

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


CHANGED = ("Gate", "SessionConversations", "ConversationLog")
"""Tables whose rows change when dialogs are drained."""


def rows_kept(bare: Bare, before: dict[str, list[tuple]]) -> None:
    """Every row there was begins as it did; new columns come after the old."""
    after = bare.data("audit")
    for table, rows in before.items():
        now = after.get(table, [])
        for row in rows:
            assert any(other[: len(row)] == row for other in now), (table, row)


def test_over_a_send_that_knows_no_gate_nothing_changes_and_uninstall_is_the_way(bare):
    """Its dialogs have no copies (F-461), and nobody can be kept out while they end. Data stays."""
    clients = [Client(bare), Client(bare)]
    for number, client in enumerate(clients):
        client.execute(send(f"0x0{number}"))
    bare.advance(5)
    before = bare.data("audit")
    before.pop("OwnedObject")
    history = before.pop("DeploymentHistory")
    assert bare.stops(installation(AUDIT)) == 50191
    for number, client in enumerate(clients):
        client.execute(send(f"0x1{number}"))
    bare.remove(AUDIT, purge=False)
    for table in CHANGED:
        before.pop(table, None)
    bare.deploy(AUDIT)
    rows_kept(bare, before)
    assert bare.data("audit")["DeploymentHistory"][0] == history[0]
    for number, client in enumerate(clients):
        client.execute(send(f"0x2{number}"))
    bare.advance(60)
    assert sorted(bare.bodies()) == [b"\x00", b"\x01", b"\x10", b"\x11", b"\x20", b"\x21"]
    assert catalog.difference(fresh_catalog(AUDIT), bare.catalog()) == []
    bare.remove(AUDIT)
    assert catalog.difference(fresh_catalog(None), bare.catalog()) == []


def test_uninstall_of_today_takes_an_installation_of_before_away(bare):
    Client(bare).execute(send("0x01"))
    bare.remove(AUDIT)
    assert catalog.difference(fresh_catalog(None), bare.catalog()) == []


# ---------------------------------------------------------------------- from before the copies
@pytest.fixture
def without_copies() -> Bare:
    """The shipped audit configuration as of revision 8df78ca: the queues alone keep a message."""
    bare = Bare(SHIPPED)
    bare.run([batch.sql for batch in split_batches(NO_COPIES.read_text(encoding="utf-8"))])
    return bare


def message(n: int) -> str:
    return send(f"0x{n:02x}")


def numbers(bare: Bare) -> list[int]:
    """What has landed, from the tables of before and of today."""
    return [
        row[0]
        for row in bare.rows(
            "SELECT CONVERT(int, l.Body) FROM audit.Landing AS l "
            "WHERE l.MessageType = N'//redial/audit/event' ORDER BY 1;"
        )
    ]


def test_live_dialogs_of_before_the_copies_are_drained_and_keep_every_message(without_copies):
    """1 Two dialogs with messages, landed and unread; T1's transaction is open, with one more.
    2 The deployment waits for T1. 3 T1 commits; the deployment closes the gate and drains: T2
    cannot send meanwhile. 4 The reader is on again, the dialogs end, and everybody goes on.
    """
    bare = without_copies
    t1, t2, dba = Client(bare), Client(bare), Client(bare)
    for n, client in ((1, t1), (2, t2)):
        client.execute(message(n))
    bare.advance(5)
    dba.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    t2.execute(message(3))
    t1.execute("BEGIN TRANSACTION; " + message(4))
    batches = installation(SHIPPED)
    changes, drains = (
        next(n for n, sql in enumerate(batches) if words in sql)
        for words in ("Migration 7:", "Changing with a drain")
    )
    bare.run(batches[:changes])
    bare.sa.submit(batches[changes])
    assert not bare.sa.out.finished
    t1.execute(message(5) + "COMMIT;")
    assert bare.sa.out.finished and not bare.sa.errors
    bare.run(batches[changes + 1 : drains])
    bare.sa.submit(batches[drains])
    bare.advance(3)
    assert not bare.sa.out.finished
    assert t2.fail(message(6)) == 50102
    dba.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    bare.advance(10)
    assert bare.sa.out.finished and not bare.sa.errors
    bare.run(batches[drains + 1 :])
    for n, client in ((6, t1), (7, t2)):
        client.execute(message(n))
    bare.advance(60)
    assert numbers(bare) == [1, 2, 3, 4, 5, 6, 7]
    assert bare.rows("SELECT COUNT(*) FROM audit.SentMessage;") == [(0,)]
    assert catalog.difference(fresh_catalog(SHIPPED), bare.catalog()) == []


def test_a_deployment_that_waits_for_a_senders_transaction_gives_up_after_thirty_seconds(
    without_copies,
):
    bare = without_copies
    t1 = Client(bare)
    t1.execute("BEGIN TRANSACTION; " + message(1))
    assert bare.stops(installation(SHIPPED)) == 50190
    t1.execute(message(2) + "COMMIT;")
    bare.deploy(SHIPPED)
    bare.advance(60)
    assert numbers(bare) == [1, 2]


def test_where_dialogs_cannot_end_nothing_changes_and_the_gate_is_open_again(without_copies):
    """1 The target's queue is off, two messages wait. 2 The deployment gives up. 3 A third is sent.
    4 The queue is on, the next deployment goes through: three messages.
    """
    bare = without_copies
    t1 = Client(bare)
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    t1.execute(message(1))
    t1.execute(message(2))
    assert bare.stops(installation(SHIPPED)) == 50190
    t1.execute(message(3))
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    bare.deploy(SHIPPED)
    t1.execute(message(4))
    bare.advance(60)
    assert numbers(bare) == [1, 2, 3, 4]


def test_a_deployment_over_no_copies_killed_at_any_statement_is_finished_by_the_next(
    without_copies, capsys
):
    """What is in flight when it is killed lands, whichever text it was sent by."""
    bare = without_copies
    t1 = Client(bare)
    for n in (1, 2):
        t1.execute(message(n))
    batches = installation(SHIPPED)
    first = next(n for n, sql in enumerate(batches) if "Migration 7:" in sql)
    last = next(n for n, sql in enumerate(batches) if "Changing with a drain" in sql)
    bare.run(batches[:first])
    t1.session.close()
    start = bare.instance.snapshot()
    killed, stride = 0, crash_stride(37)
    while bare.killed_after(batches[first : last + 1], killed * stride):
        t1 = Client(bare)
        t1.submit(message(3))  # refused while the gate is closed
        taken = [] if t1.errors else [3]
        bare.deploy(SHIPPED)
        t1.execute(message(4))
        bare.advance(60)
        assert numbers(bare) == [1, 2, *taken, 4], killed
        start.restore()
        bare.sa = Client(bare)
        killed += 1
    with capsys.disabled():
        print(
            f"\n{killed} places to kill an upgrade at, every {stride} statements: nothing is lost"
        )
    assert killed * stride > 60


@pytest.mark.parametrize(
    ("numbers", "stride"),
    [(range(1, 6), crash_stride(7)), (range(6, 7), crash_stride(11))],
    ids=["first five", "the sixth"],
)
def test_a_migration_killed_at_any_statement_is_finished_by_the_next_deployment(
    bare, capsys, numbers, stride
):
    """Killed after every N-th statement; migration 6 is one transaction around a loop over 25
    objects, so fewer stand for all.
    """
    batches = installation(AUDIT)
    first, *_, last = [
        n
        for n, sql in enumerate(batches)
        if (found := re.search(r"Migration (\d+):", sql)) and int(found[1]) in numbers
    ] * 2
    wanted = fresh_catalog(AUDIT)
    bare.run(batches[:first])
    before = bare.data("audit")
    for table in ("OwnedObject", *CHANGED):
        before.pop(table, None)
    start = bare.instance.snapshot()
    killed = 0
    while bare.killed_after(batches[first : last + 1], killed * stride):
        bare.remove(AUDIT, purge=False)
        bare.deploy(AUDIT)
        assert catalog.difference(wanted, bare.catalog()) == [], killed
        rows_kept(bare, before)
        start.restore()
        bare.sa = Client(bare)
        killed += 1
    with capsys.disabled():
        print(
            f"\n{killed} places to kill a migration at, every {stride} statements: each "
            "deployment after it is whole"
        )
    assert killed * stride > 70


FIXED = another(
    AUDIT,
    name="fixed",
    schema="fixed",
    roles={
        "module": "m",
        "sender": "s",
        "operator": "o",
        "reader": "r",
        "module_is_db_owner": True,
    },
)
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
    files = sorted(p.name for p in (TEMPLATES / "35_migrations").glob("*.migration.*"))
    assert [int(name[:2]) for name in files] == list(range(1, len(files) + 1))
    for name in files:
        text = (TEMPLATES / "35_migrations" / name).read_text(encoding="utf-8")
        assert f"m.Number = {int(name[:2])})" in text
        assert not re.search(r"DROP (COLUMN|INDEX|TABLE)|ALTER COLUMN|TRUNCATE", text), name
    assert Path(LOCK).exists()


def test_back_to_a_release_without_copies_and_forward_again_as_decision_1_says():
    """1. What a gone dialog has left keeps uninstall from going on. 2. Once it has landed, the old
    release works on today's tables. 3. Forward again finds them, and no copy to send again.
    """
    bare = Bare(SHIPPED)
    bare.run(installation(SHIPPED))
    bare.rows(
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF); "
        "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_None CHECK (ResendOf IS NULL);"
    )
    Client(bare).execute(send("0x01"))
    for (handle,) in bare.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        bare.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    bare.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    assert bare.stops(removal(SHIPPED, purge=False)) == 50140
    bare.rows(
        "ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_None; "
        "EXECUTE audit.usp_ResendStranded @olderThanSeconds = 0;"
    )
    bare.advance(5)
    bare.run(removal(SHIPPED, purge=False))
    bare.run([batch.sql for batch in split_batches(NO_COPIES.read_text(encoding="utf-8"))])
    assert (
        bare.rows(
            "SELECT name FROM sys.objects WHERE name IN (N'usp_ResendStranded', "
            "N'usp_MoveCopies', N'vw_Unlanded');"
        )
        == []
    )
    Client(bare).execute(send("0x02"))
    bare.advance(5)
    assert bare.rows("SELECT 1 FROM audit.SentMessage;") == []
    bare.run(installation(SHIPPED))
    Client(bare).execute(send("0x03"))
    bare.advance(5)
    assert len(bare.bodies()) == 3
    assert bare.rows("SELECT 1 FROM audit.SentMessage;") == []

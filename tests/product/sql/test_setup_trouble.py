"""How the server is set up blames no message: its conversation waits, the others land, health tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from redial_broker.exec import trouble

from .lab import Client, Lab, configured, send
from .test_usp_TargetActivation import pause, queue_is_on
from .two import DEPOT, Two

LONG_ENOUGH = 900
"""Seconds: a reader is started anew after ten minutes, and what waits is tried each of them."""
START = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);"
STOP = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
WAITING = "SELECT ErrorNumber FROM audit.PoisonAttempt WHERE MessageSequence = -3;"

MANY = 8
"""Conversations: five rollbacks in a row switch a queue off."""


def waits_for_the_server(lab: Lab) -> list[tuple]:
    """Priority and figure of the finding."""
    return [(r[0], r[3]) for r in lab.rows("EXECUTE audit.usp_Health;") if r[7] == "server-set-up"]


LONG = b"\xee" * 101
HOOK = configured(target={"processing": "hook"})


@contextmanager
def longest(lab: Lab, size: int = 100) -> Iterator[None]:
    """Landing is captured, and what is longer cannot be written to it."""
    database = lab.instance.database("lab")
    trouble.begin(database, trouble.TOO_LONG, ["audit.Landing"], size)
    try:
        yield
    finally:
        trouble.end(database)


def dead(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT Side, Body, Code FROM audit.DeadLetter;")


def conversation(lab: Lab, *bodies: bytes) -> Client:
    """A session with a dialog of its own, on which these were sent."""
    client = Client(lab)
    for body in bodies:
        client.execute(send("0x" + body.hex()))
    return client


@pytest.mark.sampled(every=3, meets=("several", "dooms"))
@pytest.mark.parametrize("dooms", [False, True])
@pytest.mark.parametrize("several", [1, 2, 4, 6])
def test_a_body_too_long_for_the_change_feed_waits_while_all_others_land(several, dooms):
    """1 one conversation has a long body in the middle  2 fifteen minutes, others send  3 it is allowed."""
    lab = Lab(configured(target={"readers": several}), server_trouble_dooms=dooms)
    pause(lab)
    conversation(lab, b"a1", b"a2", LONG, b"a4")
    conversation(lab, b"b1", b"b2")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(60)
        late = conversation(lab, b"c1")
        lab.advance(LONG_ENOUGH)
        late.execute(send("0x" + b"c2".hex()))
        lab.advance(60)
        assert sorted(lab.bodies()) == [b"a1", b"a2", b"b1", b"b2", b"c1", b"c2"]
        assert dead(lab) == [] and queue_is_on(lab)
        assert lab.rows(WAITING) == [(7139,)]
        ((priority, figure),) = waits_for_the_server(lab)
        assert priority == 1 and figure.startswith("1 conversations; 7139: Length of LOB data")
        assert 0 < len(lab.errors()) <= several
        assert {number for _, number, _ in lab.errors()} == {7139}
    lab.advance(60)
    assert [body for body in lab.bodies() if body[:1] == b"a" or body == LONG] == [
        b"a1",
        b"a2",
        LONG,
        b"a4",
    ]
    assert lab.rows(WAITING) == waits_for_the_server(lab) == [] and dead(lab) == []
    assert len(lab.errors()) <= several


@pytest.mark.parametrize("several", [1, 4])
def test_more_conversations_that_wait_than_rollbacks_are_forgiven_never_switch_the_queue_off(
    several,
):
    lab = Lab(configured(target={"readers": several}))
    pause(lab)
    for number in range(MANY):
        conversation(lab, LONG, b"%d" % number)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(600)
        conversation(lab, b"other")
        lab.advance(60)
        assert lab.bodies() == [b"other"] and queue_is_on(lab)
        assert lab.rows(WAITING) == [(7139,)] * MANY
        assert MANY <= len(lab.errors()) < MANY + several  # once each, however long they wait
    lab.advance(120)
    assert len(lab.bodies()) == 2 * MANY + 1 and lab.rows(WAITING) == []
    assert dead(lab) == [] and queue_is_on(lab)


def test_a_clock_that_was_set_back_by_a_month_keeps_nobody_waiting():
    lab = Lab()
    pause(lab)
    conversation(lab, LONG, b"next")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(30)
        assert lab.rows(WAITING) == [(7139,)]
        lab.sa.execute("UPDATE audit.PoisonAttempt SET LastUtc = DATEADD(day, 30, LastUtc);")
    lab.advance(30)
    assert lab.bodies() == [LONG, b"next"] and lab.rows(WAITING) == []


def test_what_stands_before_the_message_that_waits_lands_at_once_once_it_is_in_front():
    """A batch of five hundred cannot land for its last message: the others go one by one, without a pause."""
    lab = Lab()
    pause(lab)
    conversation(lab, *(b"%d" % number for number in range(40)), LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(60)
        assert len(lab.bodies()) == 40 and lab.rows(WAITING) == [(7139,)]


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("several", [1, 4])
def test_one_that_somebody_holds_keeps_no_other_waiting(several, held):
    """1. One waits. 2. Somebody holds the next one's group. 3. The third lands, and the second later."""
    lab = Lab(configured(target={"readers": several}))
    pause(lab)
    conversation(lab, LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(60)
        pause(lab)
        conversation(lab, b"b1")
        conversation(lab, b"b2")
        handles = lab.rows(
            "SELECT conversation_handle, message_body FROM audit.TargetQueue "
            "WHERE DATALENGTH(message_body) = 2 ORDER BY conversation_handle;"
        )
        somebody = Client(lab)
        somebody.execute(
            f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{handles[held][0]}') TIMEOUT = 3600;"
        )
        lab.sa.execute(START)
        lab.advance(10)
        assert lab.bodies() == [handles[1 - held][1]]
        somebody.execute("ROLLBACK TRANSACTION;")
        lab.advance(10)
        assert sorted(lab.bodies()) == [b"b1", b"b2"]


@pytest.mark.parametrize("limit", [1, 3])
def test_rows_that_doom_and_rows_that_wait_do_not_switch_the_queue_off_together(limit):
    """Four readers; in eight conversations the first row waits and the second dooms, or the other way."""
    lab = Lab(configured(target={"readers": 4}, poison={"limit": limit}))
    pause(lab)
    lab.sa.execute(
        "EXECUTE (N'CREATE TRIGGER audit.No ON audit.Landing AFTER INSERT AS IF EXISTS "
        "(SELECT 1 FROM inserted WHERE Body = 0xDEAD) THROW 50999, N''no'', 1;');"
    )
    for number in range(8):
        bodies = [LONG, b"\xde\xad"]
        conversation(lab, *(bodies if number % 2 else reversed(bodies)), b"%d" % number)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(300)
        assert queue_is_on(lab) and lab.bodies() == []
        assert lab.rows(WAITING) == [(7139,)] * 8
        assert len(dead(lab)) == 4
    lab.advance(120)
    assert len(lab.bodies()) == 16 and lab.rows(WAITING) == []
    assert dead(lab) == [("target", b"\xde\xad", 50999)] * 8 and queue_is_on(lab)


SET_UP = {
    208: (
        "INSERT dbo.Gone VALUES (1);",
        "CREATE TABLE dbo.Gone (id int); GRANT INSERT ON dbo.Gone TO audit_module;",
    ),
    2812: (
        "EXECUTE dbo.usp_Gone;",
        "EXECUTE (N'CREATE PROCEDURE dbo.usp_Gone AS RETURN 0;'); "
        "GRANT EXECUTE ON dbo.usp_Gone TO audit_module;",
    ),
    229: (
        "EXECUTE (N'SELECT id FROM dbo.Closed;');",
        "GRANT SELECT ON dbo.Closed TO audit_module;",
    ),
    308: (
        "EXECUTE (N'SELECT id FROM dbo.Shown WITH (INDEX (IX_Gone));');",
        "CREATE INDEX IX_Gone ON dbo.Shown (id);",
    ),
    315: (
        "EXECUTE (N'SELECT id FROM dbo.Shown WITH (INDEX (IX_Off));');",
        "ALTER INDEX IX_Off ON dbo.Shown REBUILD;",
    ),
    8622: (
        "EXECUTE (N'SELECT id FROM dbo.Shown WITH (FORCESEEK) WHERE other = 1;');",
        "CREATE INDEX IX_Other ON dbo.Shown (other);",
    ),
    15517: (
        "EXECUTE AS USER = N'nobody'; REVERT;",
        "CREATE USER nobody WITHOUT LOGIN; GRANT IMPERSONATE ON USER::nobody TO audit_module;",
    ),
}


@pytest.mark.parametrize("number", SET_UP)
def test_what_a_hook_lacks_is_waited_for_and_only_by_who_needs_it(number):
    """The hook needs it for one message of three; the one behind it waits too, for its order."""
    needs, mend = SET_UP[number]
    lab = Lab(HOOK)
    lab.sa.execute("CREATE TABLE dbo.Closed (id int);")
    lab.sa.execute(
        "CREATE TABLE dbo.Shown (id int, other int); GRANT SELECT ON dbo.Shown TO audit_module; "
        "CREATE INDEX IX_Off ON dbo.Shown (id); ALTER INDEX IX_Off ON dbo.Shown DISABLE;"
    )
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ProcessMessage'));")
    lab.sa.execute(
        text.replace("CREATE PROCEDURE", "ALTER PROCEDURE").replace(
            "SET NOCOUNT ON;", f"SET NOCOUNT ON; IF @body = 0x02 BEGIN {needs} END;"
        )
    )
    pause(lab)
    conversation(lab, b"\x01", b"\x02", b"\x03")
    conversation(lab, b"\x04")
    lab.sa.execute(START)
    lab.advance(LONG_ENOUGH)
    assert sorted(lab.bodies()) == [b"\x01", b"\x04"]
    assert dead(lab) == [] and queue_is_on(lab) and lab.rows(WAITING) == [(number,)]
    lab.sa.execute(mend)
    lab.advance(60)
    assert sorted(lab.bodies()) == [b"\x01", b"\x02", b"\x03", b"\x04"]
    assert dead(lab) == [] and lab.rows(WAITING) == []


def test_who_only_waits_leaves_when_activation_is_switched_off():
    lab = Lab()
    pause(lab)
    conversation(lab, LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(100)
        lab.sa.execute(STOP)
        lab.advance(61)
        assert lab.rows("SELECT spid FROM sys.dm_broker_activated_tasks;") == []
    lab.sa.execute(START)
    lab.advance(60)
    assert lab.bodies() == [LONG]


def test_a_conversation_that_is_ended_while_it_waits_is_forgotten_and_its_copy_goes_on():
    lab = Lab()
    pause(lab)
    conversation(lab, LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(100)
        ((handle,),) = lab.rows(
            "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
        )
        lab.sa.execute(f"END CONVERSATION '{handle}' WITH CLEANUP;")
        lab.advance(60)
        assert lab.rows(WAITING) == []
    ((mine,),) = lab.rows("SELECT Handle FROM audit.SessionConversations;")
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending '{mine}', 0;")
    lab.advance(60)
    assert lab.bodies() == [LONG] and dead(lab) == []


def test_a_messages_own_error_is_a_dead_letter_beside_one_that_waits():
    lab = Lab()
    pause(lab)
    lab.sa.execute("ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body <> 0xDEAD);")
    conversation(lab, b"1", b"\xde\xad", b"2", LONG, b"3")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(300)
        assert dead(lab) == [("target", b"\xde\xad", 547)] and lab.bodies() == [b"1", b"2"]
    lab.advance(60)
    assert lab.bodies() == [b"1", b"2", LONG, b"3"] and len(dead(lab)) == 1


@pytest.mark.parametrize("batch", [1, 3, 500])
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_of_five_the_third_waits_with_those_behind_it_whatever_the_batch(delivery, batch):
    lab = Lab(configured(target={"receive_batch": batch}, conversation={"delivery": delivery}))
    pause(lab)
    conversation(lab, b"1", b"2", LONG, b"4", b"5")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(300)
        assert lab.bodies() == [b"1", b"2"] and queue_is_on(lab)
        assert len(lab.rows(WAITING)) == 1 and len(lab.errors()) == 1
    lab.advance(60)
    assert lab.bodies() == [b"1", b"2", LONG, b"4", b"5"]
    assert dead(lab) == lab.rows(WAITING) == []


@pytest.mark.parametrize("several", [1, 4])
@pytest.mark.parametrize("off", [STOP, "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"])
def test_whoever_starts_its_readers_anew_adds_no_rollback(off, several):
    """Each would roll back once, and five switch the queue off: they look first."""
    lab = Lab(configured(target={"readers": several}))
    pause(lab)
    conversation(lab, LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(100)
        before = len(lab.errors())
        for _ in range(6):
            lab.sa.execute(off)
            lab.advance(70)
            lab.sa.execute(START.replace("WITH", "WITH STATUS = ON,"))
            lab.advance(70)
            assert queue_is_on(lab)
        assert len(lab.errors()) == before and lab.rows(WAITING) == [(7139,)]
        conversation(lab, b"other")
        lab.advance(60)
        assert lab.bodies() == [b"other"]
    lab.advance(60)
    assert lab.bodies() == [b"other", LONG] and dead(lab) == []


@pytest.mark.parametrize("several", [1, 4])
@pytest.mark.parametrize("bodies", [(LONG,), (b"1", LONG, b"3")])
def test_its_error_waits_behind_the_messages_of_a_conversation_that_fails_meanwhile(
    bodies, several
):
    """An Error row overtakes what is unread, and the reader takes all of it together."""
    lab = Lab(configured(target={"readers": several}))
    pause(lab)
    conversation(lab, *bodies)
    mine = lab.handle()
    lab.sa.execute(f"END CONVERSATION '{mine}' WITH ERROR = 1 DESCRIPTION = N'by hand';")
    conversation(lab, b"other")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(300)
        assert queue_is_on(lab) and dead(lab) == []
        assert set(lab.bodies()) <= {b"other", b"1", b"3"} and b"other" in lab.bodies()
        assert (7139,) in lab.rows(WAITING)
    lab.advance(200)
    assert sorted(set(lab.bodies())) == sorted({*bodies, b"other"})
    assert dead(lab) == lab.rows(WAITING) == []


@pytest.mark.parametrize("hook", [False, True])
def test_a_full_disk_beside_it_is_waited_for_without_a_rollback_more(hook):
    lab = Lab(HOOK if hook else configured())
    database = lab.instance.database("lab")
    pause(lab)
    conversation(lab, LONG)
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(60)
        trouble.begin(database, trouble.DATA_FULL, ["audit.Landing"])
        for number in range(10):
            conversation(lab, b"%d" % number)
        lab.advance(300)
        assert queue_is_on(lab) and lab.bodies() == [] and dead(lab) == []
        trouble.begin(database, trouble.TOO_LONG, ["audit.Landing"], 100)
        lab.advance(120)
        assert len(lab.bodies()) == 10 and lab.rows(WAITING) == [(7139,)]
    lab.advance(60)
    assert len(lab.bodies()) == 11 and lab.rows(WAITING) == []


def test_in_two_databases_the_targets_set_up_keeps_its_sender_waiting_and_nothing_more():
    two = Two()
    database = two.instance.database(DEPOT)
    trouble.begin(database, trouble.TOO_LONG, ["audit.Landing"], 100)
    for body in (b"1", LONG, b"3"):
        two.send("0x" + body.hex())
    two.instance.advance(300)
    assert two.bodies() == [b"1"]
    assert two.depot(WAITING) == [(7139,)]
    assert two.run("SELECT Body FROM audit.SentMessage;") != []
    trouble.end(database)
    two.instance.advance(200)
    assert two.bodies() == [b"1", LONG, b"3"]
    assert two.depot(WAITING) == two.run("SELECT Body FROM audit.SentMessage;") == []
    assert two.run("SELECT Code FROM audit.DeadLetter;") == []

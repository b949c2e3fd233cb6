"""A conversation that is refused message for message is slowed; its neighbours are not, and it recovers."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send
from .test_setup_trouble import START, conversation, dead, longest
from .test_usp_TargetActivation import pause, queue_is_on
from .two import Two

BAD = b"\xde\xad"
REFUSE = "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body <> 0xDEAD);"
MEND = "ALTER TABLE audit.Landing DROP CONSTRAINT CK_No;"
DOOM = (
    "EXECUTE (N'CREATE TRIGGER audit.No ON audit.Landing AFTER INSERT AS IF EXISTS "
    "(SELECT 1 FROM inserted WHERE Body = 0xDEAD) THROW 50999, N''no'', 1;');"
)
COUNTS = "SELECT Attempts, ErrorNumber FROM audit.PoisonAttempt WHERE MessageSequence = -5;"
READERS = "SELECT spid FROM sys.dm_broker_activated_tasks;"
SMALL = {"target": {"receive_batch": 10, "readers": 2}, "poison": {"slow_after": 20}}


def slow(**more: dict) -> Lab:
    """Twenty in a row; ten messages a batch; two readers. What is BAD cannot land."""
    lab = Lab(configured(**{key: SMALL.get(key, {}) | more.get(key, {}) for key in SMALL | more}))
    lab.sa.execute(REFUSE)
    pause(lab)
    return lab


def slowed(lab: Lab) -> list[str]:
    """Figures of the finding."""
    return [r[3] for r in lab.rows("EXECUTE audit.usp_Health;") if r[7] == "slowed"]


@pytest.mark.parametrize("readers", [1, 2, 6])
def test_a_conversation_that_is_always_refused_makes_one_dead_letter_a_second(readers):
    """1 two hundred that cannot land  2 a minute  3 the cause is mended  4 the rest lands at once."""
    lab = slow(target={"readers": readers})
    conversation(lab, *[BAD] * 200)
    lab.sa.execute(START)
    lab.advance(60)
    letters = len(dead(lab))
    assert 20 + 50 <= letters <= 20 + 10 * readers + 61 and queue_is_on(lab)
    assert lab.rows(COUNTS) == [(letters, 547)]
    assert slowed(lab) == [f"1 conversations, at most {letters} in a row, code 547"]
    ((name, _, said),) = [one for one in lab.errors() if one[0] == "usp_CountRefusals"]
    assert name and said.startswith("Slowed: ") and "code 547" in said
    lab.sa.execute(MEND)
    lab.advance(2)
    assert len(lab.bodies()) == 200 - len(dead(lab)) and len(dead(lab)) <= letters + 2
    assert lab.rows(COUNTS) == slowed(lab) == []


@pytest.mark.parametrize("readers", [1, 4])
def test_its_neighbours_land_as_fast_as_before(readers):
    """Twenty conversations are slowed; a good one sends each second, and each has landed a second later."""
    lab = slow(target={"readers": readers})
    for _ in range(20):
        conversation(lab, *[BAD] * 60)
    lab.sa.execute(START)
    good = Client(lab)
    lab.advance(10)
    letters = len(dead(lab))
    for number in range(30):
        good.execute(send(f"0x{number:02x}"))
        lab.advance(1)
        assert len(lab.bodies()) >= number, number
    lab.advance(1)
    assert len(lab.bodies()) == 30 and queue_is_on(lab)
    assert len(dead(lab)) <= letters + 33 and len(lab.rows(COUNTS)) == 20


def test_a_clock_that_was_set_back_by_a_month_keeps_no_slowed_conversation_waiting():
    lab = slow()
    conversation(lab, *[BAD] * 60)
    lab.sa.execute(START)
    lab.advance(5)
    lab.sa.execute(MEND + "UPDATE audit.PoisonAttempt SET LastUtc = DATEADD(day, 30, LastUtc);")
    lab.advance(5)
    assert len(lab.bodies()) == 60 - len(dead(lab)) > 0 and lab.rows(COUNTS) == []


def test_a_slowed_conversation_of_before_the_clock_was_set_back_has_its_turn_beside_another():
    lab = slow()
    for _ in range(2):
        conversation(lab, *[BAD] * 80)
    lab.sa.execute(START)
    lab.advance(5)
    lab.sa.execute(
        "UPDATE TOP (1) audit.PoisonAttempt SET LastUtc = DATEADD(day, 30, LastUtc) "
        "WHERE MessageSequence = -5;"
    )
    of_each = f"{COUNTS[:-1]} ORDER BY ConversationHandle;"
    before = lab.rows(of_each)
    lab.advance(10)
    assert len(before) == 2
    assert all(now > then for now, then in zip(lab.rows(of_each), before, strict=True))


def test_a_refused_message_among_good_ones_slows_nobody():
    lab = slow()
    conversation(lab, *[BAD if number % 9 else b"ok" for number in range(300)])
    lab.sa.execute(START)
    lab.advance(5)
    assert len(lab.bodies()) == 34 and len(dead(lab)) == 266
    assert not [one for one in lab.errors() if one[0] == "usp_CountRefusals"]


def test_what_is_good_behind_many_that_are_not_lands_in_its_turn():
    lab = slow()
    conversation(lab, *[BAD] * 40, b"1", b"2", b"3")
    lab.sa.execute(START)
    lab.advance(60)
    assert lab.bodies() == [b"1", b"2", b"3"] and len(dead(lab)) == 40
    assert lab.rows(COUNTS) == []


def test_nothing_is_slowed_where_nothing_waits_and_the_readers_leave():
    lab = slow()
    conversation(lab, *[BAD] * 25)
    lab.sa.execute(START)
    lab.advance(60)
    assert len(dead(lab)) == 25
    assert lab.rows(COUNTS) == slowed(lab) == [] and lab.rows(READERS) == []


def test_with_0_nothing_is_ever_slowed():
    lab = slow(poison={"slow_after": 0})
    conversation(lab, *[BAD] * 60)
    lab.sa.execute(START)
    lab.advance(5)
    assert len(dead(lab)) == 60 and lab.rows(COUNTS) == []
    assert lab.rows("SELECT OBJECT_ID(N'audit.usp_CountRefusals');") == [(None,)]


@pytest.mark.parametrize("readers", [1, 4])
def test_messages_that_doom_their_transaction_are_slowed_too_and_the_queue_stays_on(readers):
    lab = slow(target={"readers": readers})
    lab.sa.execute(MEND + DOOM)
    for _ in range(6):
        conversation(lab, *[BAD] * 60)
    conversation(lab, b"good")
    lab.sa.execute(START)
    lab.advance(60)
    assert lab.bodies() == [b"good"] and queue_is_on(lab)
    assert 6 * 20 <= len(dead(lab)) <= 6 * 40 + 61 and len(slowed(lab)) == 1
    lab.sa.execute("DROP TRIGGER audit.No;")
    lab.advance(30)
    assert len(lab.bodies()) + len(dead(lab)) == 361 and lab.rows(COUNTS) == []


@pytest.mark.parametrize(
    "more", [{"target": {"processing": "hook"}}, {"conversation": {"delivery": "exactly_once"}}]
)
def test_a_hook_and_repeats_are_counted_alike(more):
    lab = slow(**more)
    if "target" in more:
        ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ProcessMessage'));")
        refuses = "SET NOCOUNT ON; IF @body = 0xDEAD THROW 50999, N'no', 1;"
        lab.sa.execute(
            text.replace("CREATE PROCEDURE", "ALTER PROCEDURE").replace("SET NOCOUNT ON;", refuses)
        )
    conversation(lab, *[BAD] * 100)
    conversation(lab, b"good")
    lab.sa.execute(START)
    lab.advance(10)
    assert 20 <= len(dead(lab)) <= 51 and lab.bodies() == [b"good"] and queue_is_on(lab)
    assert len(slowed(lab)) == 1


def test_one_that_waits_for_the_server_beside_one_that_is_slowed():
    """Both are passed over, each is tried in its turn, and each goes on when its cause is mended."""
    lab = slow()
    long = b"\xee" * 101
    conversation(lab, *[BAD] * 80)
    conversation(lab, long, b"behind")
    conversation(lab, b"good")
    with longest(lab):
        lab.sa.execute(START)
        lab.advance(30)
        assert lab.bodies() == [b"good"] and queue_is_on(lab)
        assert 20 <= len(dead(lab)) <= 71
    lab.advance(20)
    assert lab.bodies() == [b"good", long, b"behind"]
    lab.sa.execute(MEND)
    lab.advance(5)
    assert len(lab.bodies()) + len(dead(lab)) == 83 and lab.rows(COUNTS) == []


def test_a_conversation_that_is_ended_while_it_is_slowed_is_forgotten():
    lab = slow()
    conversation(lab, *[BAD] * 60)
    lab.sa.execute(START)
    lab.advance(5)
    assert len(lab.rows(COUNTS)) == 1
    ((handle,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.advance(5)
    assert lab.rows(COUNTS) == [] and lab.rows(READERS) == []


def test_in_two_databases_the_target_slows_its_own_reader():
    two = Two()
    two.depot(REFUSE)
    for _ in range(130):
        two.send("0xDEAD")
    two.instance.advance(10)
    assert 100 <= len(two.depot("SELECT Code FROM audit.DeadLetter;")) <= 130
    two.depot(MEND)
    two.send("0x01")
    two.instance.advance(60)
    assert two.bodies()[-1:] == [b"\x01"]
    assert two.run("SELECT Body FROM audit.SentMessage;") == []

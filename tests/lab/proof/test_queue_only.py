"""Seen red: what a message that lies in queues only is exposed to, found by search.

The text is ``sql/mutants/queue_only``, so it stays red whatever we ship. Each finding has its
polite twin, a fault that waits until nobody is sending, beside which the search sees nothing: that
is how these were overlooked.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_lab.explore import Limits, World, search, shortest
from redial_lab.explore.persistent import persistent
from redial_lab.proof.audit_setups import send
from redial_lab.proof.claims import s4
from redial_lab.proof.places import PLACES, numbers_elsewhere
from redial_lab.proof.setups import Setup

MOST = Limits(transitions=15_000)
LOST = {"S3 acknowledged message lost", "S7 silent: no error and no message"}
BOTH = ("send", "commit")
"""Values of enqueue_at."""

MUTANT = "queue_only"


def setup(**fields: object) -> Setup:
    """One sender with a dialog, a transaction of his own around each batch."""
    plain = {"senders": 1, "firings": 0, "caller": "transaction", "mutant": MUTANT}
    return Setup(**plain | fields)  # type: ignore[arg-type]


def found(made: Setup) -> set[str]:
    """Names of what an exhaustive search finds."""
    result = search(made.scenario(), MOST)
    print(result)
    assert result.ended
    return set(result.violations)


def steps_to(made: Setup, name: str) -> list[str]:
    """The shortest trace to a violation, as its steps read."""
    scenario = made.scenario()
    path = shortest(scenario, search(scenario, MOST).violations[name]).path
    world, told = World(scenario), []
    for step in path:
        told.append(world.describe(step))
        world.take(step)
    return told


# ---------------------------------------------------------------------- 1: our own reader
@pytest.mark.sampled(every=2, last=False)  # both values: test_2
@pytest.mark.parametrize("enqueue_at", BOTH)
def test_1_the_target_s_reader_ends_an_expired_dialog_beside_an_open_send(enqueue_at):
    """1. S sends. 2. The target's LIFETIME ends. 3. The reader drains what it can see. 4. S
    commits, before or behind 5. the reader's END. No error anywhere, and no message.
    """
    made = setup(expiries=1, target_readers=1, switches={"enqueue_at": enqueue_at})
    assert found(made) == LOST


@pytest.mark.sampled(every=2, last=False)  # both values: test_2
@pytest.mark.parametrize("enqueue_at", BOTH)
def test_1_is_not_seen_where_a_lifetime_ends_only_behind_a_queue_that_is_off(enqueue_at):
    assert found(setup(lifetimes=1, switches={"enqueue_at": enqueue_at})) == set()


@pytest.mark.parametrize(
    ("end", "lost"), [("deletes", True), ("waits", True), ("leaves", False), ("fails", False)]
)
def test_1_with_a_reader_that_runs_in_one_step_hangs_on_what_end_does(end, lost):
    """Nobody commits between its last RECEIVE and its END, so only the open SEND is left. To wait
    rescues nothing: END then deletes what has been committed.
    """
    made = setup(expiries=1, switches={"end_over_open_send": end})
    assert found(made) == (LOST if lost else set())


def test_1_needs_no_more_than_a_sender_who_has_not_committed_yet():
    """Seven steps: four of the sender, the LIFETIME, the reader, the sender's COMMIT."""
    told = steps_to(setup(expiries=1), "S3 acknowledged message lost")
    assert len(told) == 7
    assert "SEND ON CONVERSATION" in told[3]
    assert told[4:] == [
        "a timer fires (ssb.lifetime)",
        "reader 21 (TargetQueue): starts",
        "sender A: adhoc line 1: COMMIT TRANSACTION;",
    ]


@pytest.mark.sampled(every=2, last=False)  # both values: test_2
@pytest.mark.parametrize("enqueue_at", BOTH)
def test_1_needs_no_transaction_of_the_caller_s(enqueue_at):
    made = setup(
        expiries=1, target_readers=1, caller="autocommit", switches={"enqueue_at": enqueue_at}
    )
    assert found(made) == LOST


# ---------------------------------------------------------------------- 2: anybody else
@pytest.mark.sampled(every=5, meets=("fault", "enqueue_at"))
@pytest.mark.parametrize("enqueue_at", BOTH)
@pytest.mark.parametrize("fault", ["target_ends_now", "target_errors_now", "target_cleaned"])
def test_2_an_operator_ends_the_target_s_side_at_any_moment(fault, enqueue_at):
    assert found(setup(faults=(fault,), switches={"enqueue_at": enqueue_at})) == LOST


@pytest.mark.sampled(every=5, meets=("fault", "enqueue_at"))
@pytest.mark.parametrize("enqueue_at", BOTH)
@pytest.mark.parametrize("fault", ["target_ends", "error_message"])
def test_2_is_not_seen_where_he_waits_until_nothing_is_on_its_way(fault, enqueue_at):
    assert found(setup(faults=(fault,), switches={"enqueue_at": enqueue_at})) == set()


@pytest.mark.parametrize("end", ["deletes", "waits", "leaves", "fails"])
def test_2_is_there_whatever_end_does_with_open_rows(end):
    """A message that is committed and not yet received goes with END under every value."""
    made = setup(faults=("target_ends_now",), switches={"end_over_open_send": end})
    assert found(made) == LOST


@pytest.mark.sampled(every=5, meets=("fault", "enqueue_at"))
@pytest.mark.parametrize("enqueue_at", BOTH)
@pytest.mark.parametrize(
    "fault", ["initiator_ends_now", "initiator_errors_now", "initiator_cleaned"]
)
def test_an_end_of_the_sender_s_own_side_loses_nothing(fault, enqueue_at):
    """It waits for the sender, who holds that side's group; what has left lies with the target."""
    assert found(setup(faults=(fault,), switches={"enqueue_at": enqueue_at})) == set()


# ---------------------------------------------------------------------- 3: a client's retry
RETRY = {
    "key": "application",
    "order": "key",
    "delivery": "exactly_once",
    "messages": 2,
    "caller": "autocommit",
}


def test_3_a_retry_leaves_a_gap_in_its_key_s_numbers():
    """A0, A1, A1 again and A2 have numbers 1 to 4; the second A1 is dropped, and 3 is nowhere."""
    assert found(setup(**RETRY, retries=1)) == {"S4 gap or repeat in a key's numbers"}


def test_3_is_not_there_without_a_retry():
    assert found(setup(**RETRY)) == set()


def test_3_is_closed_by_a_table_that_shows_what_was_dropped():
    """The number of a dropped repeat counts as accounted for where SkippedNumber names it."""
    scenario = setup(**RETRY, retries=1).scenario()
    [sender] = scenario.clients
    scenario.clients = (
        replace(
            sender,
            warm=(
                "INSERT INTO audit.SkippedNumber (ConversationKey, KeySequence, Reason) "
                "VALUES (N'k', 3, 'repeat');",
                *sender.warm,
            ),
        ),
    )
    result = search(scenario, MOST)
    assert (result.violations, result.ended) == ({}, True)


# ---------------------------------------------------------------------- 4: two dialogs
ONE_OVER_TWO = {"S8 one transaction over two dialogs"}


@pytest.mark.parametrize("key", ["pool", "application", "spid"])
def test_4_a_transaction_goes_over_two_dialogs_when_the_first_has_its_count(key):
    assert found(setup(key=key, slots=2, recycle="aged_out", sends=2)) == ONE_OVER_TWO


def test_4_two_senders_of_a_pool_meet_it_as_well():
    made = setup(key="pool", slots=2, recycle="aged_out", sends=2, senders=2, warm=0)
    assert found(made) == ONE_OVER_TWO


@pytest.mark.parametrize("recycle", ["never", "timer"])
def test_4_is_not_there_where_nothing_is_counted(recycle):
    made = setup(key="pool", slots=2, recycle=recycle, sends=2, firings=int(recycle == "timer"))
    assert found(made) == set()


def test_4_is_not_there_with_one_message_a_transaction():
    assert found(setup(key="pool", slots=2, recycle="aged_out", messages=2)) == set()


# ---------------------------------------------------------------------- how it is looked at
@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"enqueue_at": "commit"},
        {"end_over_open_send": "waits"},
        {"end_over_open_send": "leaves"},
        {"end_over_open_send": "fails"},
        {"send_over_open_end": "waits"},
        {"send_over_open_end": "transmits"},
        {"expiry_waits_for_sender": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("fields", [{"expiries": 1}, {"faults": ("target_ends_now",)}], ids=str)
def test_the_reduced_search_sees_the_same(fields, switches):
    """It leaves out orders of steps that do not touch each other: END and SEND do."""
    scenario = setup(**fields, switches=switches).scenario()
    assert set(persistent(scenario, MOST).violations) == set(search(scenario, MOST).violations)


def test_a_message_that_is_kept_until_it_has_landed_counts_once():
    """SentMessage has B1, which is nowhere else, and A5, which lies in the target's queue as well:
    both wait, each once.
    """
    scenario = setup().scenario()
    [sender] = scenario.clients
    scenario.clients = (
        replace(
            sender,
            warm=(
                *sender.warm,
                "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",
                send("A5"),
                "INSERT INTO audit.SentMessage (ConversationId, MessageSequence, MessageType, Body) "
                "SELECT e.conversation_id, q.message_sequence_number, "
                "q.message_type_name, q.message_body FROM audit.TargetQueue AS q "
                "INNER JOIN sys.conversation_endpoints AS e "
                "ON e.conversation_handle = q.conversation_handle UNION ALL "
                "SELECT NEWID(), 0, q.message_type_name, 0xB1 FROM audit.TargetQueue AS q UNION ALL "
                "SELECT l.ConversationId, l.MessageSequence, l.MessageType, l.Body "
                "FROM audit.Landing AS l;",
            ),
        ),
    )
    world = World(scenario)
    assert sorted(PLACES.pending(world)) == ["A5", "B1"]
    assert PLACES.landed(world) == ["A0"]


def test_a_number_that_waits_with_its_message_is_no_gap():
    """A1 has landed with number 1; number 2 waits in the target's queue, in its header."""
    made = setup(key="application", order="key", messages=2, caller="autocommit")
    scenario = made.scenario()
    [sender] = scenario.clients
    scenario.clients = (
        replace(
            sender,
            batches=(),
            warm=(
                *sender.warm,
                "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",
                send("A1").replace(";", ", @key = N'k';"),
            ),
        ),
    )
    world = World(scenario)
    assert numbers_elsewhere(world) == {("k", 2)}
    assert s4(made.subject, world) == []


def test_a_setup_says_what_cannot_be_searched():
    for wrong, rule in (
        ({"sends": 2, "caller": "autocommit"}, "sends: 1 to 9"),
        ({"sends": 5, "messages": 2}, "messages times sends at most 9"),
        ({"retries": 1}, "retries: 0 to 3, with delivery exactly_once"),
        ({"lifetimes": 1, "expiries": 1}, "lifetimes or expiries, not both"),
    ):
        with pytest.raises(ValueError, match=rule):
            setup(**wrong)

"""The timer strategies that exist for comparison only, by directed steps and by search.

The story of the directed steps: a caller's transaction holds R and not G, because its SEND was
refused after the look-up (the gate was closed), while the dialog's timer fires.
"""

from __future__ import annotations

import pytest

from redial.config import Config
from redial.render import render
from redial_lab.explore import Limits, search
from redial_lab.proof.audit_setups import send, small_config
from redial_lab.proof.strategies import strategy
from tests.choices import TRAITS
from tests.product.seeds.lab import END_OF_STREAM, RECYCLE_AFTER, Lab

STRATEGIES = ("lock_timeout", "lock_timeout_rearm", "low_priority")
GATE = "UPDATE audit.Gate SET IsOpen = {};"
RETRY = 30


def variant(strategy: str, **sections: dict) -> Config:
    """The small configuration with a strategy and other choices."""
    data = small_config(strategy).model_dump(by_alias=True, mode="json")
    for section, values in sections.items():
        data[section] |= values
    return Config.model_validate(data)


def busy(strategy: str):
    """A lab whose only dialog's row is held by a caller in a transaction, and that caller."""
    lab = Lab(small_config(strategy))
    caller = lab.connect()
    caller.execute(send("01")).ok()
    lab.run(GATE.format(0))
    caller.execute("BEGIN TRANSACTION;").ok()
    assert caller.execute(send("02")).error().number == 50102
    lab.run(GATE.format(1))
    return lab, caller


@pytest.mark.parametrize("name", STRATEGIES)
def test_it_says_what_it_is_in_config_stamp_and_catalog(name):
    lab = Lab(small_config(name))
    for module in ("usp_RecycleInOneTransaction", "usp_SenderActivation", "usp_Send"):
        [(text,)] = lab.rows(f"SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.{module}'));")
        assert f"COMPARISON ONLY: timer_strategy = {name}" in text


def test_what_we_ship_has_no_trace_of_them():
    """usp_RecycleConversation and usp_MoveCopies wait for a lock as long as their callers say (F-410),
    an operator's procedure and what resends outside of a RECEIVE a bounded time, whoever calls it; the
    target's reader 30 seconds and no longer.
    """
    own = (
        "usp_RecycleConversation",
        "usp_MoveCopies",
        "usp_ResendLeft",
        "usp_ResendStranded",
        "78_",
    )
    bounded = "    SET LOCK_TIMEOUT 30000; "
    files = render(small_config())
    assert not any(
        "InOneTransaction" in text
        or "COMPARISON ONLY" in text
        or ("LOCK_TIMEOUT" in text.replace(bounded, "") and not any(name in file for name in own))
        or "DEADLOCK_PRIORITY" in text
        for file, text in files.items()
        if ".procedure." in file
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_alone_each_recycles_as_meant(name):
    lab = Lab(small_config(name))
    lab.send(b"x")
    lab.advance(RECYCLE_AFTER + 10)
    assert lab.landed_types()[-1] == END_OF_STREAM
    assert lab.endpoints() == [("target", "CLOSED")]
    lab.at_rest()


@pytest.mark.parametrize(
    "choices",
    [
        {"conversation": {"key": "application"}},
        {"conversation": {"key": "application", "delivery": "exactly_once", "order": "key"}},
        {"conversation": {"key": "pool"}, "pool": {"size": 2}},
    ],
    ids=["application", "application, order by key, exactly once", "pool"],
)
@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", STRATEGIES)
def test_each_can_be_combined_with_the_other_choices(name, choices):
    try:
        lab = Lab(variant(name, **choices))
    except ValueError as error:
        pytest.skip(f"not available yet: {error}")
    named = TRAITS[choices["conversation"]["key"]].named
    lab.call_send(b"x", **({"key": "k"} if named else {})).ok()
    lab.advance(RECYCLE_AFTER + 10)
    assert lab.landed() == [b"x"]
    assert lab.endpoints() == [("target", "CLOSED")]


def test_lock_timeout_puts_the_message_back_until_the_queue_is_off():
    """Seed 002, the asker: "the queue from being disabled if it exceeds 5 lock timeouts"."""
    lab, caller = busy("lock_timeout")
    lab.advance(RECYCLE_AFTER + 60)
    assert not lab.queues_on()
    caller.execute("ROLLBACK TRANSACTION;").ok()
    lab.advance(10 * RECYCLE_AFTER)
    assert END_OF_STREAM not in lab.landed_types(), "and nobody recycles any more"


def test_lock_timeout_rearm_asks_again_and_the_queue_stays_on():
    lab, caller = busy("lock_timeout_rearm")
    lab.advance(RECYCLE_AFTER + 10 * RETRY)
    assert lab.queues_on()
    assert END_OF_STREAM not in lab.landed_types()
    caller.execute("ROLLBACK TRANSACTION;").ok()
    lab.advance(RETRY + 1)
    assert lab.endpoints() == [("target", "CLOSED")]


def test_two_phase_asks_again_too():
    lab, caller = busy("two_phase")
    lab.advance(RECYCLE_AFTER + 10 * RETRY)
    assert lab.queues_on()
    caller.execute("ROLLBACK TRANSACTION;").ok()
    lab.advance(RETRY + 1)
    assert lab.endpoints() == [("target", "CLOSED")]


def test_low_priority_is_the_victim_itself_and_the_sender_goes_on():
    """Seed 002, the asker's own idea: "so that it becomes the victim", with a retry."""
    lab, caller = busy("low_priority")
    lab.advance(RECYCLE_AFTER)  # the reader has G and waits for R
    caller.execute(send("02")).ok()  # R, then G: the circle
    assert [number for number, _ in lab.errors()] == [1205]
    caller.execute("COMMIT TRANSACTION;").ok()
    lab.advance(10)
    assert lab.landed() == [b"\x01", b"\x02"]
    assert lab.endpoints() == [("target", "CLOSED")]
    assert lab.queues_on()


def test_low_priority_holds_a_reader_as_long_as_the_caller_likes():
    """It waits for R: the queue's only reader does nothing else meanwhile."""
    lab, caller = busy("low_priority")
    lab.advance(1)  # the caller's timer is the first to fire
    other = lab.connect()
    other.execute(send("03")).ok()
    lab.advance(RECYCLE_AFTER + 10 * RETRY)
    assert lab.landed_types().count(END_OF_STREAM) == 0
    caller.execute("ROLLBACK TRANSACTION;").ok()
    lab.advance(10)
    assert lab.landed_types().count(END_OF_STREAM) == 2


# ---------------------------------------------------------------------- by search
@pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])
def test_searched_lock_timeout_rearm_deadlocks_with_nobody(rcsi):
    result = search(strategy("lock_timeout_rearm", rcsi=rcsi))
    print(result)
    assert result.ended, result.bounded_by
    assert result.violations == {}


def test_searched_lock_timeout_deadlocks_with_nobody_either():
    result = search(strategy("lock_timeout"), Limits(transitions=150_000))
    print(result)
    assert "deadlock" not in result.violations
    assert "acknowledged message lost" not in result.violations


def test_searched_low_priority_deadlocks_and_the_sender_is_never_the_victim():
    result = search(strategy("low_priority"))
    print(result)
    assert result.ended, result.bounded_by
    assert set(result.violations) == {"deadlock"}

"""The other keys and rules of recycling under the search: small bounds, nothing to report.

States and transitions are printed: `pytest -s tests/lab/explore` shows them.
"""

from __future__ import annotations

import pytest

from redial_lab.explore import Scenario, search
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.search import Limits
from redial_lab.explore.world import Client, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    TARGET_IN_ONE_GO,
    TIDY,
    accounted,
    deployed,
    end_of_stream_once,
    no_orphan_dialog,
    rows,
    small_config,
)

MOST = Limits(transitions=60_000)
"""What a search here may need; it must be exhausted below."""


def chosen(
    choices: dict,
    *,
    kills: int = 0,
    cancels: int = 0,
    firings: int = 0,
    keys: str = "",
    in_transaction: bool = False,
    warm: bool = True,
    senders: int = 2,
    checks: tuple = (),
) -> Scenario:
    """Senders, one message each, of a configuration with ``choices`` (section -> fields).

    keys: one letter for each sender, its @key. warm: one message of the first sender is there.
    """
    data = small_config().model_dump(by_alias=True, mode="json")
    for section, fields in choices.items():
        data[section] |= fields
    config = type(small_config()).model_validate(data)

    orphans = (no_orphan_dialog,) if config.traits.has_rows else ()

    def text(sender: int, body: str) -> str:
        key = f", @key = N'{keys[sender]}'" if keys else ""
        call = (
            "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
            f"N'//redial/audit/contract', N'//redial/audit/event', 0x{body}{key};"
        )
        return f"BEGIN TRANSACTION; {call} COMMIT TRANSACTION;" if in_transaction else call

    tidy = TIDY if in_transaction else ""
    before = (text(0, "A0"),) if warm else ()
    clients = (
        Client("sender A", (text(0, "A1"),), DATABASE, before, tidy),
        Client("sender B", (text(1, "B1"),), DATABASE, (), tidy),
    )[:senders]
    bodies = {(0, 0): "A1", (1, 0): "B1"} if senders == 2 else {(0, 0): "A1"}
    name = f"{choices}, keys {keys or '-'}, kills {kills}, cancels {cancels}, firings {firings}"
    return Scenario(
        name,
        lambda: deployed(config),
        clients,
        on_every_state=no_deadlock,
        at_the_end=all_of(
            accounted(bodies), end_of_stream_once, nothing_left_behind, *orphans, *checks
        ),
        in_one_go=frozenset({"TargetQueue"}),
        firings=firings,
        kills=kills,
        cancels=cancels,
        notes=(TARGET_IN_ONE_GO,),
    )


def one_everlasting_dialog(world: World) -> list[str]:
    """At most one open dialog of the initiator; what nobody needs was ended."""
    broker = world.instance.server.database(DATABASE).broker
    found = [e for e in broker.endpoints.values() if e.is_initiator and e.state() in ("SO", "CO")]
    return ["two everlasting dialogs"] if len(found) > 1 else []


def no_gap(world: World) -> list[str]:
    """What landed of the key is numbered 1, 2, 3 ..., each once."""
    found = sorted(n for (n,) in rows(world, "Landing", "KeySequence") if n is not None)
    return [] if found == list(range(1, len(found) + 1)) else ["gap in the key's numbers"]


def exhausted_and_clean(scenario: Scenario) -> None:
    result = search(scenario, MOST)
    print(result)
    assert result.violations == {}
    assert result.ended, result.bounded_by
    assert result.ends > 0


AGED = {
    "conversation": {"key": "application", "recycle": "aged_out"},
    "aged_out": {"after_seconds": 0, "after_messages": 1},
}
"""Every send but a key's first closes the dialog of the one before."""


@pytest.mark.sampled(every=2, last=False)  # cancels: of a pool
@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_two_senders_of_one_key_age_a_dialog_out_and_one_dies(fault):
    """Seed 002's author: aged in the send procedure, deadlocks stopped. Here: none can be found."""
    exhausted_and_clean(chosen(AGED, keys="kk", **{fault: 1}))


def test_two_callers_with_transactions_of_their_own_age_a_dialog_out():
    exhausted_and_clean(chosen(AGED, keys="kk", in_transaction=True, kills=1))


POOL = {"conversation": {"key": "pool", "recycle": "never"}, "pool": {"size": 2, "wait_ms": 5000}}
ONE_SLOT = {"conversation": {"key": "pool", "recycle": "never"}, "pool": {"size": 1}}
ONE_SLOT_TIMED = {"conversation": {"key": "pool", "recycle": "timer"}, "pool": {"size": 1}}
ONE_SLOT_AGED = AGED | {"conversation": {"key": "pool", "recycle": "aged_out"}, "pool": {"size": 1}}
SINGLE = {"conversation": {"key": "single", "recycle": "never"}}
MESSAGE = {"conversation": {"key": "message", "recycle": "never"}}
NUMBERED = {"conversation": {"key": "application", "recycle": "timer", "order": "key"}}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    "choices", [POOL, ONE_SLOT, ONE_SLOT_AGED], ids=["two slots", "one slot", "one slot, aged out"]
)
@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_two_senders_of_a_pool_and_one_dies(choices, fault):
    """No slot can leak: the row lock is the lease. With one slot the second sender waits for it."""
    exhausted_and_clean(chosen(choices, **{fault: 1}))


@pytest.mark.parametrize("choices", [POOL, ONE_SLOT], ids=["two slots", "one slot"])
def test_two_callers_of_a_pool_with_transactions_of_their_own(choices):
    exhausted_and_clean(chosen(choices, in_transaction=True, kills=1))


def test_a_sender_of_a_slot_its_timer_and_a_kill():
    exhausted_and_clean(chosen(ONE_SLOT_TIMED, senders=1, firings=1, kills=1))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first use"])
@pytest.mark.parametrize("in_transaction", [False, True], ids=["autocommit", "own transaction"])
def test_two_senders_of_the_everlasting_dialog_and_one_dies(warm, in_transaction):
    """First use by both at once: one dialog comes of it, or none if the one who began it died."""
    exhausted_and_clean(
        chosen(
            SINGLE,
            in_transaction=in_transaction,
            warm=warm,
            kills=1,
            checks=(one_everlasting_dialog,),
        )
    )


@pytest.mark.sampled(every=2, last=False)
@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_a_dialog_per_message_and_a_sender_that_dies(fault):
    exhausted_and_clean(chosen(MESSAGE, **{fault: 1}))


def test_the_numbers_of_a_key_have_no_gap_across_a_recycle():
    exhausted_and_clean(
        chosen(NUMBERED, keys="kk", senders=1, firings=1, kills=1, checks=(no_gap,))
    )


def test_the_numbers_of_a_key_have_no_gap_whoever_dies():
    exhausted_and_clean(chosen(NUMBERED, keys="kk", kills=1, checks=(no_gap,)))

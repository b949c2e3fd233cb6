"""Each claim is a check that something known to be bad violates, and the shipped text does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_lab.explore import Limits, search
from redial_lab.explore.search import HELD, IN_VAIN
from redial_lab.explore.walk import Walks, walk
from redial_lab.proof.audit_setups import EVENT, TIDY
from redial_lab.proof.claims import DESCRIBED, ON_F255
from redial_lab.proof.mutants import HANDLE
from redial_lab.proof.setups import FAULTS, Setup
from redial_lab.proof.witnesses import WITNESSES
from tests.sampling import full

MOST = Limits(transitions=30_000)
BAD = {
    "S1": (
        Setup(senders=1, caller="transaction", mutant="one_transaction"),
        "S1 deadlock of usp_Send, usp_SenderActivation, victim a sender",
    ),
    "S2": (Setup(senders=1, mutant="autocommit_send"), "S2 message after EndOfStream"),
    "S3": (Setup(senders=1, mutant="no_lock_hint"), "S3 acknowledged message lost"),
    "S4": (
        Setup(senders=1, messages=2, lifetimes=1, firings=0, mutant="resend_out_of_order"),
        "S4 out of order on a dialog",
    ),
    "S4 numbers": (
        Setup(key="application", order="key", firings=0, mutant="no_lock_hint"),
        "S4 gap or repeat in a key's numbers",
    ),
    "S6": (
        Setup(senders=1, firings=0, faults=("target_ends",), mutant="row_kept"),
        "S6 row of a dead dialog",
    ),
    "S6 pool": (
        Setup(senders=1, key="pool", firings=0, faults=("target_ends",), mutant="row_kept"),
        "S6 row of a dead dialog",
    ),
    "S7": (Setup(senders=1, mutant="no_lock_hint"), "S7 silent: no error and no message"),
    "L4": (
        Setup(
            senders=1,
            faults=("reader_restart",),
            switches={"killed_reader": "relaunched"},
            mutant="no_rearm",
        ),
        "L4 a dialog that no timer will recycle",
    ),
    "L5": (
        Setup(senders=1, mutant="waits_with_row"),
        "L5 usp_Send waits for usp_SenderActivation, which waits for time to pass",
    ),
    "S5": (
        Setup(senders=1, firings=0, warm=0, mutant="minutes_for_seconds"),
        "S5 a dialog lives longer than configured",
    ),
    "S4 retry": (
        Setup(
            senders=1,
            firings=0,
            messages=2,
            key="application",
            order="key",
            delivery="exactly_once",
            retries=1,
            mutant="queue_only",
        ),
        "S4 gap or repeat in a key's numbers",
    ),
    "S8": (
        Setup(
            senders=1,
            firings=0,
            sends=2,
            caller="transaction",
            key="pool",
            slots=2,
            recycle="aged_out",
            mutant="queue_only",
        ),
        "S8 one transaction over two dialogs",
    ),
    "L1": (
        Setup(senders=1, firings=0, faults=("error_message",), mutant="error_not_ended"),
        "L1 a dialog nobody can find again",
    ),
    "L1 half closed": (
        Setup(senders=1, mutant="initiator_ends_first"),
        "L1 a dialog is left half closed",
    ),
    "L1 unread": (Setup(senders=1, mutant="stub_activation"), "L1 a message nobody is started for"),
    "S2 of the article's tables": (
        Setup(overdue=True, strategy="article"),
        "S2 message after EndOfStream",
    ),
    "L2": (
        Setup(senders=1, caller="transaction", strategy="lock_timeout"),
        "L2 InitiatorQueue switched off",
    ),
}
GOOD = [
    Setup(senders=1),
    Setup(senders=1, caller="trigger"),
    Setup(senders=1, caller="xact_abort", isolation="rcsi"),
    Setup(senders=1, messages=2, key="application", order="key", firings=0),
    Setup(senders=1, key="pool"),
    Setup(senders=2, warm=0, key="application", firings=0),
    Setup(senders=2, warm=0, key="single", recycle="never", firings=0),
    Setup(senders=1, key="application", recycle="aged_out", firings=0),
    Setup(senders=1, firings=0, retire=True),
    Setup(senders=1, firings=0, drain=True),
    Setup(senders=1, firings=0, lifetimes=1),
    Setup(senders=1, firings=0, target_readers=2),
    Setup(senders=1, firings=0, sends=2, caller="transaction"),
    Setup(senders=1, firings=0, sends=2, caller="xact_abort", key="pool", slots=2),
    Setup(senders=1, firings=0, messages=2, delivery="exactly_once", retries=1),
    Setup(senders=1, firings=0, delivery="exactly_once", retries=1, faults=("answer_lost",)),
    *(Setup(senders=1, firings=0, faults=(name,)) for name in FAULTS),
    Setup(senders=1, firings=0, expiries=1),
    Setup(
        senders=1,
        firings=0,
        messages=2,
        key="application",
        order="key",
        delivery="exactly_once",
        retries=1,
    ),
    Setup(senders=1, firings=0, sends=2, caller="transaction", recycle="aged_out"),
]


@pytest.mark.parametrize("name", BAD)
def test_a_claim_is_violated_by_what_is_known_to_be_bad(name):
    setup, violation = BAD[name]
    result = search(setup.scenario(), replace(MOST, until=violation))
    print(result)
    assert violation in result.violations
    assert violation.startswith(name[:2])


def test_s5_and_l1_are_violated_by_a_dialog_begun_past_usp_send():
    scenario = Setup(senders=1, firings=0).scenario()
    past = (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract] "
        f"WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (0xA1);"
    )
    scenario.clients = (replace(scenario.clients[0], batches=(past,)),)
    assert "S5 more dialogs than keys" in search(scenario, MOST).violations
    scenario.on_every_state = lambda world: []
    assert "L1 a dialog nobody can find again" in search(scenario, MOST).violations


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("setup", GOOD, ids=str)
def test_the_shipped_procedures_keep_every_claim(setup):
    result = search(setup.scenario(), MOST)
    print(result)
    assert result.violations == {}
    assert result.ended, result.bounded_by
    assert result.ends > 0
    assert result.status == HELD, result.unseen
    assert result.circles == 0 or setup.drain, "every run comes to its end"


def test_every_claim_names_something_that_must_have_been_possible():
    assert set(WITNESSES) == {*DESCRIBED, "L3"}
    assert all(WITNESSES.values())


@pytest.mark.parametrize(
    ("setup", "name"),
    [
        (Setup(senders=2, warm=0, firings=0, messages=2), "S4: two messages were on one dialog"),
        (Setup(senders=1, firings=0, faults=("cancel",)), "S7: a batch failed"),
    ],
    ids=lambda value: str(value).replace(" ", "_"),
)
def test_a_claim_that_never_had_anything_to_say_fails_the_run(setup, name, monkeypatch):
    """What it speaks of is taken away: then nothing is violated, and the run is no success."""
    made = setup.scenario()
    assert name in made.to_witness
    made.clients = tuple(replace(client, batches=("SELECT 1;",)) for client in made.clients)
    made.faults = ()
    made.at_the_end = lambda world: []  # it would say that nothing was sent
    result = search(made, MOST)
    assert (result.violations, result.status) == ({}, IN_VAIN)
    assert name in result.unseen


def test_what_a_setup_leaves_out_is_said():
    notes = Setup(senders=1, firings=0).scenario().notes
    assert "S2 has nothing to say here: an EndOfStream was sent cannot be" in notes
    assert not any(note.startswith("S3 has nothing") for note in notes)


def test_every_claim_says_what_it_means():
    assert list(DESCRIBED) == [
        "S1",
        "S5",
        "L2",
        "L5",
        "S2",
        "S3",
        "S4",
        "S6",
        "S7",
        "S8",
        "L1",
        "L4",
    ]
    for name, claim in DESCRIBED.items():
        assert (claim.__doc__ or "").startswith(name)


def test_a_setup_that_cannot_be_searched_is_refused_with_what_is_allowed():
    with pytest.raises(ValueError, match=r"senders: 1 to 4; .*faults: kill"):
        Setup(senders=5, warm=0, faults=("meteor",))


def test_a_setup_is_read_from_one_line():
    assert Setup.parse(
        "key=pool senders=1 retire=1 faults=kill+pause switches=killed_reader:relaunched"
    ) == Setup(
        key="pool",
        senders=1,
        retire=True,
        faults=("kill", "pause"),
        switches={"killed_reader": "relaunched"},
    )
    for wrong in ("keys=pool", "senders=many", "faults=meteor"):
        with pytest.raises(ValueError, match=r"the names are|whole number|faults: kill"):
            Setup.parse(wrong)


def test_a_reader_killed_before_its_first_receive_leaves_a_dialog_half_closed_by_one_reading():
    """F-255: stuck like a procedure that never receives, or started again. What is found in the
    first is met at once; with --full that search too goes to its end. It takes three times the
    transitions of the second: from where something is found on, a state is searched again by each
    shorter way, for the shortest trace."""
    found = {}
    for value in ("stuck", "relaunched"):
        setup = Setup(senders=1, faults=("reader_restart",), switches={"killed_reader": value})
        until = ON_F255 if value == "stuck" and not full() else None
        result = search(setup.scenario(), Limits(transitions=80_000, until=until))
        print(result)
        assert result.ended or result.bounded_by == f"the first {until!r}"
        found[value] = set(result.violations)
    assert found == {"stuck": {ON_F255}, "relaunched": set()}


def test_a_sender_that_stands_still_at_any_step_of_a_drain():
    """The drain gives up in its time or comes to its end; the sender gets in or is told 50102.

    With --full every order of steps, else sixty drawn ones, which meet both.
    """
    setup = Setup(senders=1, firings=0, drain=True, faults=("pause",))
    if full():
        result = search(setup.scenario(), Limits(transitions=200_000))
        assert result.ended, result.bounded_by
    else:
        result = walk(setup.scenario(), Walks(60))
    print(result)
    assert result.violations == {}
    assert result.ends > 0
    assert result.taken["pause"] > 0 and result.taken["resume"] > 0
    assert {"refused 0", "refused 1"} <= {
        part.strip() for account in result.accounts for part in account.split(",")
    }


def test_s6_excuses_no_row_of_a_dialog_that_could_not_end_by_itself():
    """A caller who is cancelled ends his dialog by hand: not what a cancel accounts for."""
    made = Setup(senders=1, firings=0, faults=("cancel",)).scenario()
    by_hand = f"{TIDY} {HANDLE.format(1)} END CONVERSATION @h WITH CLEANUP;"
    made.clients = (replace(made.clients[0], on_cancel=by_hand),)
    assert "S6 row of a dead dialog" in search(made, MOST).violations


def test_a_reader_that_dies_between_its_transactions_leaves_a_row_the_operator_removes():
    """S6 in its second half; with an operator's procedure that removes nothing it is violated."""
    setup = Setup(
        senders=1,
        firings=0,
        lifetimes=1,
        faults=("reader_restart",),
        switches={"killed_reader": "relaunched"},
    )
    result = search(setup.scenario(), Limits(transitions=60_000))
    print(result)
    assert (result.violations, result.ended) == ({}, True)
    made = setup.scenario()
    idle = (
        "ALTER PROCEDURE audit.usp_EndLeaked @WhatIf bit, @reason nvarchar(400) AS "
        "BEGIN SET NOCOUNT ON; END;"
    )
    made.clients = (replace(made.clients[0], warm=(*made.clients[0].warm, idle)),)
    found = search(made, Limits(transitions=15_000, until="S6 row of a dead dialog"))
    assert "S6 row of a dead dialog" in found.violations


def test_a_target_removed_in_silence_is_given_up_by_the_operator():
    """L1 in its last half; with an operator's procedure that gives nothing up it is violated."""
    setup = Setup(senders=1, caller="transaction", faults=("target_cleaned",))
    result = search(setup.scenario(), MOST)
    assert (result.violations, result.ended) == ({}, True)
    made = setup.scenario()
    idle = (
        "ALTER PROCEDURE audit.usp_EndLeaked @WhatIf bit, @reason nvarchar(400) AS "
        "BEGIN SET NOCOUNT ON; END;"
    )
    made.clients = (replace(made.clients[0], warm=(*made.clients[0].warm, idle)),)
    name = "L1 a recycled dialog is not closed"
    assert name in search(made, replace(MOST, until=name)).violations

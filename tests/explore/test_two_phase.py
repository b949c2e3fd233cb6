"""The shipped procedures under the same search, with faults: exhausted, and nothing to report.

States and transitions are printed: `pytest -s tests/explore` shows them.
"""

from __future__ import annotations

import pytest

from harness.explore import Client, Scenario, search
from harness.explore.audit import (
    DATABASE,
    accounted,
    all_of,
    deployed,
    end_of_stream_once,
    no_deadlock,
    no_orphan_dialog,
    nothing_left_behind,
    send,
    small_config,
)

TIDY = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"


def in_a_transaction(body: str) -> str:
    return f"BEGIN TRANSACTION; {send(body)} COMMIT TRANSACTION;"


def two_phase(clients: tuple[Client, ...], bodies: dict, *, rcsi: bool = False,
              **faults: int) -> Scenario:
    return Scenario(
        f"two_phase, {len(clients)} callers, {'RCSI' if rcsi else 'RC'}, {faults}",
        lambda: deployed(small_config(), rcsi=rcsi), clients, on_every_state=no_deadlock,
        at_the_end=all_of(accounted(bodies), end_of_stream_once, nothing_left_behind,
                          no_orphan_dialog),
        in_one_go=frozenset({"TargetQueue"}), **faults)


def exhausted_and_clean(scenario: Scenario) -> None:
    result = search(scenario)
    print(result)
    assert result.exhausted, result.bounded_by
    assert result.violations == {}
    assert result.ends > 0


WARM = Client("sender A", (send("A1"),), DATABASE, warm=(send("A0"),))
WARM_IN_TRANSACTION = Client("sender A", (in_a_transaction("A1"),), DATABASE, warm=(send("A0"),),
                             on_cancel=TIDY)
COLD = Client("sender B", (send("B0"),), DATABASE)
COLD_IN_TRANSACTION = Client("sender B", (in_a_transaction("B0"),), DATABASE, on_cancel=TIDY)
BOTH = {(0, 0): "A1", (1, 0): "B0"}


def test_two_callers_a_reader_a_recycle_and_a_kill_anywhere_lose_nothing():
    exhausted_and_clean(two_phase((WARM, COLD), BOTH, kills=1))


def test_callers_with_transactions_of_their_own_do_not_deadlock_with_the_reader():
    exhausted_and_clean(two_phase((WARM_IN_TRANSACTION, COLD_IN_TRANSACTION), BOTH))


@pytest.mark.parametrize("client", [WARM, COLD, WARM_IN_TRANSACTION, COLD_IN_TRANSACTION],
                         ids=["warm", "first use", "warm, caller's transaction",
                              "first use, caller's transaction"])
@pytest.mark.parametrize("rcsi", [False, True], ids=["RC", "RCSI"])
def test_a_sender_that_dies_or_is_cancelled_at_any_statement_leaves_nothing_behind(client, rcsi):
    """No message half sent, no lock, no open transaction, no orphan dialog; two timer firings."""
    body = "A1" if client.name == "sender A" else "B0"
    bodies = {(0, 0): body}
    exhausted_and_clean(two_phase((client,), bodies, rcsi=rcsi, kills=1, firings=2))
    exhausted_and_clean(two_phase((client,), bodies, rcsi=rcsi, cancels=1, firings=2))

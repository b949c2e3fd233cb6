"""The other keys and rules of recycling under the search: small bounds, nothing to report.

States and transitions are printed: `pytest -s tests/explore` shows them.
"""

from __future__ import annotations

import pytest

from harness.explore import Scenario, search
from harness.explore.audit import (
    DATABASE,
    TARGET_IN_ONE_GO,
    TIDY,
    accounted,
    all_of,
    deployed,
    end_of_stream_once,
    no_deadlock,
    no_orphan_dialog,
    nothing_left_behind,
    small_config,
)
from harness.explore.search import Limits
from harness.explore.world import Client

MOST = Limits(transitions=60_000)
"""What a search here may need; it must be exhausted below."""


def chosen(choices: dict, *, kills: int = 0, cancels: int = 0, firings: int = 0, keys: str = "",
           in_transaction: bool = False, warm: bool = True, checks: tuple = ()) -> Scenario:
    """Two senders, one message each, of a configuration with ``choices`` (section -> fields).

    keys: one letter for each sender, its @key. warm: one message of the first sender is there.
    """
    data = small_config().model_dump(by_alias=True, mode="json")
    for section, fields in choices.items():
        data[section] |= fields
    config = type(small_config()).model_validate(data)

    def text(sender: int, body: str) -> str:
        key = f", @key = N'{keys[sender]}'" if keys else ""
        call = ("EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
                f"N'//redial/audit/contract', N'//redial/audit/event', 0x{body}{key};")
        return f"BEGIN TRANSACTION; {call} COMMIT TRANSACTION;" if in_transaction else call

    tidy = TIDY if in_transaction else ""
    before = (text(0, "A0"),) if warm else ()
    clients = (Client("sender A", (text(0, "A1"),), DATABASE, before, tidy),
               Client("sender B", (text(1, "B1"),), DATABASE, (), tidy))
    name = f"{choices}, keys {keys or '-'}, kills {kills}, cancels {cancels}, firings {firings}"
    return Scenario(
        name, lambda: deployed(config), clients, on_every_state=no_deadlock,
        at_the_end=all_of(accounted({(0, 0): "A1", (1, 0): "B1"}), end_of_stream_once,
                          nothing_left_behind, no_orphan_dialog, *checks),
        in_one_go=frozenset({"TargetQueue"}), firings=firings, kills=kills, cancels=cancels,
        notes=(TARGET_IN_ONE_GO,))


def exhausted_and_clean(scenario: Scenario) -> None:
    result = search(scenario, MOST)
    print(result)
    assert result.violations == {}
    assert result.exhausted, result.bounded_by
    assert result.ends > 0


AGED = {"conversation": {"key": "application", "recycle": "aged_out"},
        "aged_out": {"after_seconds": 0, "after_messages": 1}}
"""Every send but a key's first closes the dialog of the one before."""


@pytest.mark.parametrize("fault", ["kills", "cancels"])
def test_two_senders_of_one_key_age_a_dialog_out_and_one_dies(fault):
    """Seed 002's author: aged in the send procedure, deadlocks stopped. Here: none can be found."""
    exhausted_and_clean(chosen(AGED, keys="kk", **{fault: 1}))


def test_two_callers_with_transactions_of_their_own_age_a_dialog_out():
    exhausted_and_clean(chosen(AGED, keys="kk", in_transaction=True, kills=1))

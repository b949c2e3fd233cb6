"""[comparison].lookup_hint: what holdlock and none get wrong, found by search, for the matrix."""

from __future__ import annotations

from redial.render import render
from redial_lab.explore import Limits, search
from redial_lab.proof.strategies import hinted, lookup


def look_up(hint: str) -> str:
    files = render(hinted(hint))
    [text] = [text for name, text in files.items() if "usp_AcquireConversation" in name]
    return text


def test_the_hint_is_in_the_one_look_up_and_the_stamp_says_comparison_only():
    assert "WITH (UPDLOCK, ROWLOCK, FORCESEEK)" in look_up("updlock")
    assert "COMPARISON ONLY" not in look_up("updlock")
    for hint, words in (
        ("holdlock", "WITH (HOLDLOCK, ROWLOCK, FORCESEEK)"),
        ("none", "WITH (ROWLOCK, FORCESEEK)"),
    ):
        assert f"COMPARISON ONLY: lookup_hint = {hint}" in look_up(hint)
        assert words in look_up(hint)
        assert "UPDLOCK" not in look_up(hint)


def test_holdlock_deadlocks_on_conversion():
    """Seed 000: "HOLDLOCK is not enough and UPDLOCK behaves better". Two that share the row both go
    on to write it when its dialog has died (F-122)."""
    result = search(lookup("holdlock", dead=True, firings=0), Limits(until="deadlock"))
    print(result)
    assert "deadlock" in result.violations


def test_updlock_does_not_in_the_same_story():
    result = search(lookup("updlock", dead=True, firings=0))
    print(result)
    assert result.ended
    assert result.violations == {}


def test_without_a_hint_the_sender_asks_for_the_row_with_the_group_in_its_hands():
    """F-123: nothing keeps the row between look-up and SEND, and what keeps the message's copy
    wants it behind SEND: G then R, where a recycle has R and wants G. That a message follows
    EndOfStream and is lost was before there were copies (no_lock_hint in sql/mutants).
    """
    result = search(lookup("none"), Limits(until="deadlock", transitions=60_000))
    print(result)
    assert "deadlock" in result.violations

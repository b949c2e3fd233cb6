"""The bench of the explorer, small."""

import json

import pytest

from redial_lab.bench import explore
from tests.sampling import full

TINY = "senders=1 warm=0 firings=0"


def test_figures_of_whole_and_reduced_searches(monkeypatch):
    """One of the four searches is in a process of its own; with --full all are, as in the bench."""
    begin, begun = explore._begin, []

    def once(how: str, setup: str):
        begun.append(setup)
        return begin(how, setup) if full() or len(begun) == 1 else Ended(how, setup, None)

    monkeypatch.setattr(explore, "_begin", once)
    monkeypatch.setattr(explore, "RUNS", 1)
    monkeypatch.setattr(explore, "SMALL", TINY)
    said: list[str] = []
    figures = explore.main(said.append, (TINY,))
    assert figures["explore.fewer.states"] <= figures["explore.whole.states"]
    assert figures["explore.whole_by_fewer.transitions"] >= 1
    assert figures["explore.large_1.rc.ends"] >= 1
    assert any("rcsi" in line and "no violation" in line for line in said)
    assert len(begun) == 4


class Ended:
    """A search's process that is over."""

    returncode = 0

    def __init__(self, how: str, setup: str, transitions: int | None = 5) -> None:
        self.found = explore.one(how, setup, transitions)

    def communicate(self) -> tuple[str, str]:
        return json.dumps(self.found), ""


def test_a_search_that_does_not_come_to_its_end_is_no_figure(monkeypatch):
    monkeypatch.setattr(explore, "_begin", Ended)
    with pytest.raises(RuntimeError, match="not exhausted"):
        explore._side_by_side(print, 1, TINY)

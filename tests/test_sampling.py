"""tests/sampling.py: what a sample of a family takes."""

from __future__ import annotations

from tests.sampling import sample


def test_a_sample_takes_every_nth_the_last_and_each_choice():
    family = [{"key": key, "fault": fault} for key in ("a", "b", "c") for fault in range(5)]
    assert sample(family, 5) == {0, 5, 10, 14}
    assert sample(family, 7) == {0, 7, 14}
    assert sample(family, 7, last=False) == {0, 7, 14}
    assert sample(family, 8, last=False) == {0, 8}
    assert sample(family, 8, meets=("key",), last=False) == {0, 8, 10}
    assert sample(family, 15, meets=("key", "fault"), last=False) == {0, 1, 2, 3, 4, 5, 10}
    assert sample([], 3) == set()


def test_a_new_choice_in_a_name_is_never_left_out():
    names = ["spid-timer", "spid-never", "pool-timer", "pool-never", "host-never", "spid-aged"]
    kept = sample([{"name": name} for name in names], 10, meets=("name",), last=False)
    assert {part for place in kept for part in names[place].split("-")} == {
        *("spid", "pool", "host", "timer", "never", "aged")
    }

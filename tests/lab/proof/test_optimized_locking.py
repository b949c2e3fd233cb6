"""The shipped text where locking is optimized (2025, Managed Instance): nothing is lost.

Two readers with ids in common: test_target_readers.py; engine: tests/broker/exec/locking.
"""

from __future__ import annotations

from typing import Any

import pytest

from redial_lab.proof.setups import Setup
from tests.choices import KEYS, TRAITS, usual_recycle

from .test_copies import holds

ON: dict[str, Any] = {"isolation": "rcsi", "switches": {"optimized_locking": "on"}}
READERS: dict[str, Any] = {
    "senders": 1,
    "firings": 0,
    "delivery": "exactly_once",
    "retries": 1,
    "target_readers": 2,
}
STORIES: dict[str, dict[str, Any]] = {
    "a send meets its recycle": {"senders": 1, "firings": 1, "caller": "transaction"},
    "two senders of one dialog": {"senders": 2, "warm": 2, "firings": 0, "caller": "transaction"},
    "a target that ends": {"senders": 1, "firings": 0, "faults": ("target_ends_now",)},
    "two readers with one message id": READERS,
}


@pytest.mark.sampled(every=3, meets=("key", "story"))
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("key", KEYS)
def test_no_message_is_lost_doubled_or_blocked_for_ever(key, story):
    if TRAITS[key].per_message and story in (
        "a send meets its recycle",
        "two readers with one message id",
    ):
        pytest.skip("a dialog of one message has no timer, and two of them make another search")
    holds(Setup(key=key, recycle=usual_recycle(key), **ON | STORIES[story]))

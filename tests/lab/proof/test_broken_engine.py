"""An engine with a broken lock is seen by small searches, of the kind that run every day.

Each break is of the lock manager's own methods. Whoever makes one of these mistakes in the engine
makes searches red that are green today.
"""

from __future__ import annotations

import pytest

from redial.paths import SQL
from redial_broker.engine.locks import LockManager
from redial_lab.explore import Limits, Scenario, search
from redial_lab.explore.search import EXHAUSTED, HELD, VIOLATED
from redial_lab.explore.user_files import load
from redial_lab.proof.setups import Setup

acquire = LockManager.acquire


def s_for_u(locks, transaction, key, mode, **how):
    """Who asks for U gets S, and so does the next one."""
    acquire(locks, transaction, key, "S" if mode == "U" else mode, **how)


def not_kept(locks, transaction, key, mode, **how):
    """A row's lock is given back at the end of the statement, not of the transaction."""
    acquire(locks, transaction, key, mode, **{**how, "short": how.get("short") or key[0] == "KEY"})


def lost_wake_up(locks, resource):
    """A lock is given back, and nobody who waits for it is told."""


def tickets() -> Scenario:
    """A user's own tables: two sales of the last ticket beside a cancellation."""
    return load(SQL / "examples" / "tickets" / "mended.toml")[0]


def overdue() -> Scenario:
    """A sender beside a recycle that waits for the row."""
    return Setup(senders=1, overdue=True).scenario()


def numbered() -> Scenario:
    """Two senders who number the messages of one key."""
    return Setup(key="application", order="key", firings=0).scenario()


DEADLOCK = "S1 deadlock of usp_Send, usp_SenderActivation, victim no sender"
SILENT = "S7 a caller never got an answer"
LEFT = "lock left behind"


@pytest.mark.parametrize(
    ("method", "broken", "searched", "found"),
    [
        ("acquire", s_for_u, tickets, "deadlock"),
        ("acquire", s_for_u, overdue, DEADLOCK),
        ("acquire", not_kept, tickets, "tickets from nowhere"),
        ("acquire", not_kept, numbered, "S4 gap or repeat in a key's numbers"),
        ("_serve", lost_wake_up, tickets, LEFT),
        ("_serve", lost_wake_up, overdue, LEFT),
        ("_serve", lost_wake_up, numbered, SILENT),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_lock_is_found(monkeypatch, method, broken, searched, found):
    whole = search(searched())
    assert (whole.verdict, whole.status, whole.violations) == (EXHAUSTED, HELD, {})
    monkeypatch.setattr(LockManager, method, broken)
    red = search(searched(), Limits(first=True))
    assert red.status == VIOLATED
    assert found in red.violations, red

"""How far searches go in the daily suite that are too large for it; with --full all go to their end."""

from __future__ import annotations

from redial_lab.explore import Limits
from redial_lab.explore.search import Result
from tests.sampling import full


def most(transitions: int) -> Limits:
    """So many transitions, and with --full as many as there are."""
    return Limits() if full() else Limits(transitions=transitions)


def far_enough(result: Result, limits: Limits) -> bool:
    """It came to its end, or to the transitions it was given; no other bound ended it."""
    return result.ended or result.bounded_by == f"{limits.transitions} transitions"

"""In which order differences are mended, and so printed: what others hang on goes first."""

from __future__ import annotations

from collections.abc import Iterable

from redial.deploy.fingerprint.compare import EXCESS, EXCHANGED, IN_PLACE, RENAMED, Difference
from redial.deploy.fingerprint.model import GRANTEE, GRANTOR, ON

OF_A_TABLE = ("index", "column", "check", "foreign key", "statistics")
"""Kinds that go with a table."""


def in_turn(differences: Iterable[Difference]) -> list[Difference]:
    """In the order in which their statements can be run; otherwise they stay as they stand."""
    todo = list(differences)
    return sorted(todo, key=lambda each: (is_late(each), _turn(each), -_passed_on(each, todo)))


def is_late(difference: Difference) -> bool:
    """Whether it switches a queue on: not before all is there that its reader needs."""
    switch = difference.what in ("receive", "enqueue", "activation")
    return difference.thing.kind == "queue" and switch


def _passed_on(each: Difference, todo: list[Difference]) -> int:
    """How often a right was passed on before it came to whom it is taken from: the last one goes first, while
    whoever gave it may still take it.
    """
    times, giver = 0, each.has.get(GRANTOR)
    while giver and times < len(todo):
        times += 1
        giver = next((one.has[GRANTOR] for one in todo if one.has.get(GRANTEE) == giver), "")
    return times


def _turn(difference: Difference) -> int:
    """What others hang on goes first, and one clustered index before the next is made."""
    if difference.how in (RENAMED, EXCHANGED):
        return 0
    if difference.how == EXCESS and (
        difference.thing.kind in OF_A_TABLE or IN_PLACE in difference.has
    ):
        return 0
    return 2 if difference.wants.get("clustered") == ON else 1

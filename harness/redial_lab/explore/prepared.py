"""Instances made once and begun from many times.

Most searches are small: to install what they search takes longer than the search. A search leaves
its world as it was at its start, so the instance can serve the next search of the same
installation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from redial_broker.instance.shelf import Lent, Shelf

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance

KEPT = 16
"""Instances kept by a process."""

SHELF = Shelf(KEPT)


class Loan:
    """What a search has borrowed, if anything."""

    def __init__(self) -> None:
        self.one: Lent | None = None

    def give_back(self) -> None:
        """The search is over, and its world is not used any more. Nothing the second time."""
        one, self.one = self.one, None
        if one is not None:
            SHELF.give_back(one)


_LOAN: ContextVar[Loan | None] = ContextVar("loan", default=None)


@contextmanager
def lending() -> Iterator[Loan]:
    """Inside, ``made`` may answer with an instance that is to be given back."""
    loan = Loan()
    token = _LOAN.set(loan)
    try:
        yield loan
    finally:
        _LOAN.reset(token)


def made(key: Hashable, make: Callable[[], Instance]) -> Instance:
    """What ``make`` makes: a new one, or inside ``lending`` one of the same key given back.

    key: equal only for what is made equal.
    """
    loan = _LOAN.get()
    if loan is None or loan.one is not None:
        return make()
    loan.one = SHELF.take(key, make)
    return loan.one.instance

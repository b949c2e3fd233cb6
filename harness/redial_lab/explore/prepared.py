"""Instances made once and begun from many times.

Most searches are small: to install what they search takes longer than the search. A search leaves
its world as it was at its start, so the instance can go back to the moment it was made, by the same
journal that rewinds each step, and serve the next search of the same installation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from redial_broker.instance.snapshot import Snapshot

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance

KEPT = 32
"""Instances kept by a process, 8 MB each; the one unused for longest goes."""


class _Prepared:
    """An instance, the moment to come back to, and what no journal brings back."""

    def __init__(self, key: Hashable, instance: Instance) -> None:
        self.key, self.instance = key, instance
        self.moment = Snapshot(instance)
        self.machine, self.on_deadlock = instance.machine, instance.engine.locks.on_deadlock

    def come_back(self) -> None:
        """Be as it was made."""
        instance = self.instance
        instance.searched = False
        instance.machine, instance.engine.locks.on_deadlock = self.machine, self.on_deadlock
        self.moment.restore()


_FREE: OrderedDict[int, _Prepared] = OrderedDict()


class Loan:
    """What a search has borrowed, if anything."""

    def __init__(self) -> None:
        self.one: _Prepared | None = None

    def give_back(self) -> None:
        """The search is over, and its world is not used any more. Nothing the second time.

        An instance that ever had a defect is not lent again: nobody knows what it is now.
        """
        one, self.one = self.one, None
        if one is None or one.instance.defects.ever:
            return
        one.come_back()
        _FREE[id(one)] = one
        while len(_FREE) > KEPT:
            _FREE.popitem(last=False)


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
    one = next((one for one in _FREE.values() if one.key == key), None)
    if one is None:
        one = _Prepared(key, make())
    else:
        del _FREE[id(one)]
    loan.one = one
    return one.instance

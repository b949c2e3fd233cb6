"""Instances with something installed, made once a process and rewound for the next test.

An installation takes half a second, coming back to it a thousandth. What a test borrows is taken
back when it is over, fixtures included; what a fixture of a module or session makes is its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from redial.config import Config
from redial.render import render
from redial.tsql import split_batches
from redial_broker.instance.instance import Instance
from redial_broker.instance.snapshot import Snapshot

KEPT = 30
"""Instances kept by a process; the one unused for longest goes."""


class _Installed:
    """One instance, the moment to come back to, and what no journal would bring back."""

    def __init__(self, key: Hashable, instance: Instance) -> None:
        self.key, self.instance = key, instance
        self.moment: Snapshot = instance.snapshot()
        self.plain = self._plain()

    def _plain(self) -> dict[str, Any]:
        """Attributes a test may have set by hand."""
        instance, engine = self.instance, self.instance.engine
        return dict(vars(instance)) | {
            "clock": engine.clock,
            "switches": dict(engine.switches),
            "sinks": list(instance.sessions.values()),
        }

    def rewound(self) -> bool:
        """Come back; False when this instance is not what it was and must not be lent again."""
        if self.instance.searched:
            return False
        self.moment.restore()
        return self._plain() == self.plain


class _Shelf:
    """What can be lent, and what is."""

    def __init__(self) -> None:
        self.free: OrderedDict[int, _Installed] = OrderedDict()
        self.lent: list[_Installed] = []
        self.own = 0

    def borrow(self, key: Hashable, install: Callable[[], Instance]) -> Instance:
        """An instance as ``install`` makes it."""
        if self.own:
            return install()
        found = next((one for one in self.free.values() if one.key == key), None)
        if found is None:
            found = _Installed(key, install())
        else:
            del self.free[id(found)]
        self.lent.append(found)
        return found.instance

    def take_back(self) -> None:
        """The test is over: everything it borrowed is as before."""
        while self.lent:
            one = self.lent.pop()
            if one.rewound():
                self.free[id(one)] = one
        while len(self.free) > KEPT:
            self.free.popitem(last=False)


_SHELF = _Shelf()
borrow, take_back = _SHELF.borrow, _SHELF.take_back


@contextmanager
def own() -> Iterator[None]:
    """What is made inside lives longer than a test: nothing of it is lent."""
    _SHELF.own += 1
    try:
        yield
    finally:
        _SHELF.own -= 1


_FILES: dict[tuple[str, str | None], dict[str, str]] = {}


def rendered(config: Config, mutant: str | None = None) -> dict[str, str]:
    """``render``, once for each configuration and mutant."""
    key = key_of(config), mutant
    if key not in _FILES:
        _FILES[key] = render(config, mutant=mutant)
    return dict(_FILES[key])


def key_of(config: Config) -> str:
    """The same text for configurations whose values are the same."""
    return config.model_dump_json(by_alias=True)


@lru_cache(maxsize=4000)
def batches(text: str) -> tuple[str, ...]:
    """The batches of a script, split once for each text."""
    return tuple(batch.sql for batch in split_batches(text))

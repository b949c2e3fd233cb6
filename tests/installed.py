"""Instances with something installed, made once a process and rewound for the next test.

An installation takes half a second, coming back to it a thousandth. What a test borrows is taken
back when it is over, fixtures included; what a fixture of a module or session makes is its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from redial.config import Config
from redial.paths import GENERATED
from redial.render import read, render
from redial.tsql import split_batches
from redial.tsql.script import ScriptBatch
from redial_broker.instance.instance import Instance
from redial_broker.instance.shelf import Lent, Shelf

KEPT = 16
"""Instances kept by a process."""
FILES = 32
"""Configurations whose rendered files are kept, a megabyte each."""


@lru_cache
def committed() -> dict[str, str]:
    """What lies in sql/generated, in pieces: the parts of each configuration and its other scripts,
    by configuration and name."""
    return {
        f"{folder.name} {name}": text
        for folder in sorted(path for path in GENERATED.iterdir() if path.is_dir())
        for name, text in read(folder).items()
        if name.endswith(".sql") and not re.fullmatch(r"\d_\w+\.sql", name)
    }


class _Loans:
    """A shelf, and what of it the running test has."""

    def __init__(self) -> None:
        self.shelf = Shelf(KEPT)
        self.lent: list[Lent] = []
        self.own = 0

    def borrow(self, key: Hashable, install: Callable[[], Instance]) -> Instance:
        """An instance as ``install`` makes it."""
        if self.own:
            return install()
        one = self.shelf.take(key, install)
        self.lent.append(one)
        return one.instance

    def take_back(self) -> None:
        """The test is over: everything it borrowed is as before."""
        while self.lent:
            self.shelf.give_back(self.lent.pop())


_LOANS = _Loans()
borrow, take_back = _LOANS.borrow, _LOANS.take_back


@contextmanager
def own() -> Iterator[None]:
    """What is made inside lives longer than a test: nothing of it is lent."""
    _LOANS.own += 1
    try:
        yield
    finally:
        _LOANS.own -= 1


_FILES: dict[tuple[str, str | None], dict[str, str]] = {}


def rendered(config: Config, mutant: str | None = None) -> dict[str, str]:
    """``render``, once for each configuration and mutant while they are in use."""
    key = key_of(config), mutant
    files = _FILES.pop(key, None) or render(config, mutant=mutant)
    _FILES[key] = files
    if len(_FILES) > FILES:
        del _FILES[next(iter(_FILES))]
    return dict(files)


def key_of(config: Config) -> str:
    """The same text for configurations whose values are the same."""
    return config.model_dump_json(by_alias=True)


@lru_cache(maxsize=2000)
def split(text: str) -> tuple[ScriptBatch, ...]:
    """``split_batches``, once for each text."""
    return tuple(split_batches(text))


def batches(text: str) -> tuple[str, ...]:
    """The batches of a script."""
    return tuple(batch.sql for batch in split(text))

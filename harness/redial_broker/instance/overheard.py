"""Listening to the batches that sessions in this process run: how a database was made, as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_HEARD: ContextVar[list[tuple[str, str]] | None] = ContextVar("heard", default=None)


@contextmanager
def overheard() -> Iterator[list[tuple[str, str]]]:
    """(database, text) of every batch that ``Session.execute`` runs inside, in order."""
    found: list[tuple[str, str]] = []
    token = _HEARD.set(found)
    try:
        yield found
    finally:
        _HEARD.reset(token)


def heard(database: str, text: str) -> None:
    """A batch is run."""
    found = _HEARD.get()
    if found is not None:
        found.append((database, text))

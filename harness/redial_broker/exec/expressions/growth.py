"""Expressions whose values may grow without bound ask for room first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.engine.meter import EVERY, LOB_BYTES

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def room(session: SessionState | None, characters: int) -> None:
    """A string of so many characters is about to be made. Raises SqlError 701 or 7119.

    session: None while a constant is worked out; a long one is left to the run.
    """
    if characters > EVERY:
        if session is None:
            raise SqlError(7119, LOB_BYTES)
        session.engine.meter.text(characters)

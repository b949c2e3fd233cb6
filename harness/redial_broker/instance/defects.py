"""Defects of the embedded broker: exceptions nobody foresaw.

Each ends what it came out of, a session most often, and nobody else: what a real server does with
an access violation. They are kept here, written to the log of the process, and told the client.
"""

from __future__ import annotations

import logging

from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import SAME, derived, journaled, made, state
from redial_broker.engine.types import Message

_LOG = logging.getLogger(__name__)

INTERNAL_ERROR = 60999
"""Message number of a defect of the embedded broker itself."""

KEPT = 1000
FATAL = 20
"""Severity of an error after which the connection is gone."""


def defect_message(text: str, severity: int = FATAL) -> Message:
    """What a client is told of a defect."""
    return Message(INTERNAL_ERROR, severity, 1, f"Defect of the embedded broker: {text}")


def described(error: Exception) -> str:
    """Type and text of an exception."""
    return f"{type(error).__name__}: {error}"


class Defects(Part):
    """What was found last, as (where, type and text), oldest first; rewound with the rest."""

    __slots__ = ("_journal", "ever", "found")
    STATE = state(
        journaled("found"),
        derived("ever", why="whether there was one on any way: the instance is not used again"),
        made("_journal", hidden=SAME),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self.found: tuple[tuple[str, str], ...] = ()
        self.ever = False
        """Whether there was one, rewound or not."""

    def note(self, where: str, error: Exception) -> None:
        """Keep a defect. where: what it came out of, and so what it has ended."""
        self.ever = True
        _LOG.error("defect of the embedded broker in %s", where, exc_info=error)
        self._journal.assign(
            None, self, "found", (*self.found[1 - KEPT :], (where, described(error)))
        )

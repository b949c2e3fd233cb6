"""The ERRORLOG: what background tasks, RAISERROR WITH LOG and failed logins leave behind."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from harness.broker.engine.journal import Part
from harness.broker.engine.kernel import Engine

KEPT = 10_000


class ErrorLog(Part):
    """Lines of (time UTC, source, text), oldest first. Not part of the state hash."""

    __slots__ = ("_engine", "lines")

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self.lines: list[tuple[datetime, str, str]] = []

    def write(self, source: str, text: str) -> None:
        """Add a line."""
        self._engine.journal.save(self)
        self.lines.append((self._engine.clock.utc(), source, text))
        if len(self.lines) > KEPT:
            del self.lines[: KEPT // 10]

    def memento(self) -> Any:
        """How many lines there are."""
        return len(self.lines)

    def restore(self, memento: Any) -> None:
        """Cut the lines written since."""
        del self.lines[memento:]

"""The ERRORLOG: what background tasks, RAISERROR WITH LOG and failed logins leave behind."""

from __future__ import annotations

from datetime import datetime

from redial_broker.engine.journal import Part
from redial_broker.engine.kernel import Engine
from redial_broker.engine.state import SAME, made, plain, saved, state

KEPT = 10_000
Line = tuple[datetime, str, str]
"""Time UTC, source, text."""

ARCHIVES = 6
"""Old logs a server keeps when nobody says otherwise (sp_cycle_errorlog page)."""


def _with_length(lines: list[Line]) -> tuple[list[Line], int]:
    return lines, len(lines)


def _cut(saved_lines: tuple[list[Line], int]) -> list[Line]:
    """Without the lines written since."""
    lines, length = saved_lines
    del lines[length:]
    return lines


class ErrorLog(Part):
    """Lines of (time UTC, source, text), oldest first.

    lines: of the current log; archives: those of the logs before it, the youngest first.
    """

    __slots__ = ("_engine", "archives", "lines")
    STATE = state(
        saved("lines", copy=_with_length, back=_cut, show=plain, when="logs"),
        saved("archives", show=plain, when="logs"),
        made("_engine", hidden=SAME),
        journal="_engine.journal",
    )

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self.lines: list[tuple[datetime, str, str]] = []
        self.archives: tuple[list[tuple[datetime, str, str]], ...] = ()

    def write(self, source: str, text: str) -> None:
        """Add a line."""
        self._engine.journal.save(self)
        self.lines.append((self._engine.clock.utc(), source, text))
        if len(self.lines) > KEPT:
            del self.lines[: KEPT // 10]

    @property
    def count(self) -> int:
        """How many logs there are, the current one included."""
        return 1 + len(self.archives)

    def file(self, number: int) -> list[tuple[datetime, str, str]]:
        """A copy of the lines of log 0 (the current one), 1 (the one before) ...; [] beyond."""
        logs = (self.lines, *self.archives)
        return list(logs[number]) if 0 <= number < len(logs) else []

    def cycle(self) -> None:
        """Close the current log and begin a new one."""
        self._engine.journal.save(self)
        self.archives = (self.lines, *self.archives)[:ARCHIVES]
        self.lines = []

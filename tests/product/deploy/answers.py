"""A catalog's answers written down, so that each can be changed without a server."""

from __future__ import annotations

from typing import Any

from redial.config import Config
from redial.deploy.fingerprint.queries import CONTENTS, QUESTIONS, asked
from redial.deploy.verify import Look, look_over
from tests.installed import rendered
from tests.product.sql.lab import Lab

from .inside import Connection, Cursor

Table = tuple[list[str], list[tuple[Any, ...]]]
"""Columns and rows of one result set."""
NAMES = asked(QUESTIONS.read_text("utf-8"))


class Answers:
    """What one installation answers: two batches, by question."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.files = rendered(config)
        recorder = _Recorder(Connection(Lab(config).instance, "lab"))
        look_over(config, recorder, self.files)
        self.batches = recorder.batches

    def tables(self) -> dict[tuple[int, int], str]:
        """Every question's place and name."""
        first = {(0, place): name for place, name in enumerate(NAMES)}
        return first | {(1, place): name for place, name in enumerate(CONTENTS)}

    def table(self, place: tuple[int, int]) -> Table:
        return self.batches[place[0]][place[1]]

    def look(self, place: tuple[int, int] | None = None, rows: list[Any] | None = None) -> Look:
        """What is seen; with ``place`` after the rows of that question have become others."""
        batches = [list(batch) for batch in self.batches]
        if place is not None:
            batches[place[0]][place[1]] = (self.table(place)[0], rows or [])
        [one] = look_over(self.config, _Player(batches), self.files)
        return one


class _Recorder:
    """Writes down the result sets of each batch."""

    def __init__(self, inner: Connection) -> None:
        self.inner = inner
        self.batches: list[list[Table]] = []

    def cursor(self) -> _RecordingCursor:
        return _RecordingCursor(self)


class _RecordingCursor(Cursor):
    def __init__(self, recorder: _Recorder) -> None:
        super().__init__(recorder.inner)
        self.recorder = recorder

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        super().execute(sql, *parameters)
        self.recorder.batches.append(
            [(list(one.names), [tuple(row) for row in one.rows]) for one in self.sets]
        )
        return self


class _Player:
    """Answers each batch with what was written down."""

    def __init__(self, batches: list[list[Table]]) -> None:
        self.batches = batches

    def cursor(self) -> _PlayingCursor:
        return _PlayingCursor(self)


class _PlayingCursor:
    def __init__(self, player: _Player) -> None:
        self.player = player
        self.sets: list[Table] = []

    def execute(self, sql: str) -> _PlayingCursor:
        self.sets = list(self.player.batches.pop(0))
        return self

    @property
    def description(self) -> list[tuple[str]] | None:
        return [(name,) for name in self.sets[0][0]] if self.sets else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.sets[0][1]

    def nextset(self) -> bool:
        del self.sets[:1]
        return bool(self.sets)

    def close(self) -> None:
        pass

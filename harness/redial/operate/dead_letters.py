"""Dead letters by cause, and what an operator does with all of a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from redial.config import Config
from redial.quoting import literal, qualified, visible

VERBS = {
    "replay": "usp_ReplayDeadLetter",
    "mark": "usp_MarkDeadLetter",
    "purge": "usp_PurgeDeadLetter",
}
"""What can be done, and the procedure that does it."""
CAUSES = "vw_DeadLetterCauses"
COLUMNS = (
    *("Side", "Code", "MessageType", "ReasonLike", "ExampleReason", "Letters", "Unhandled"),
    *(
        "FirstUtc",
        "LastUtc",
        "FirstId",
        "LastId",
        "Conversations",
        "Keys",
        "ExampleId",
        "OlderLeftOut",
    ),
)
"""Of CAUSES."""


@dataclass(frozen=True)
class Answer:
    """What was seen, or done, in one database."""

    server: str
    """Without a secret."""
    database: str
    causes: tuple[dict[str, Any], ...] = ()
    """Rows of the view, by column."""
    statement: str = ""
    """Of the verb; empty: causes were asked for."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """How many letters came to each."""
    result: dict[str, Any] = field(default_factory=dict)
    """The last row of the procedure, by column."""

    @property
    def where(self) -> str:
        """For a person."""
        return visible(f"{self.server}, database {self.database}")


def statement(config: Config, verb: str, given: Mapping[str, str | int], do: bool) -> str:
    """The call. given: parameters without their @, as they come. do: not only shown."""
    said = [f"@{name} = {literal(v) if isinstance(v, str) else v}" for name, v in given.items()]
    name = qualified(config.schema_name, VERBS[verb])
    return f"EXECUTE {name} {', '.join([*said, f'@WhatIf = {int(not do)}'])};"


def causes(connection: Any, config: Config) -> tuple[dict[str, Any], ...]:
    """Every cause there is, those with the most unhandled letters first. Raises the driver's errors."""
    view = qualified(config.schema_name, CAUSES)
    sql = f"SELECT {', '.join(COLUMNS)} FROM {view} ORDER BY Unhandled DESC, Letters DESC, FirstId;"
    ((names, rows),) = _results(connection, sql)
    return tuple(dict(zip(names, row, strict=True)) for row in rows)


def run(connection: Any, sql: str) -> tuple[dict[str, int], dict[str, Any]]:
    """What each letter came to, counted, and the procedure's last row. Raises the driver's errors."""
    *before, (names, rows) = _results(connection, sql)
    outcomes = Counter(str(row[-1]) for _, letters in before for row in letters)
    return dict(outcomes), dict(zip(names, rows[0], strict=True))


def _results(connection: Any, sql: str) -> list[tuple[list[str], list[Any]]]:
    """Columns and rows of every result."""
    found = []
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        more = True
        while more:
            if cursor.description:
                found.append(([one[0] for one in cursor.description], cursor.fetchall()))
            more = cursor.nextset()
    return found


def text(answer: Answer) -> str:
    """For a terminal."""
    lines = [answer.where]
    if answer.statement:
        lines.append(f"  run  {visible(answer.statement)}")
        lines += [
            f"  {count:>10}  {visible(outcome)}" for outcome, count in answer.outcomes.items()
        ]
        told = ", ".join(f"{name}: {value}" for name, value in answer.result.items())
        return "\n".join([*lines, f"  {visible(told)}", ""])
    if not answer.causes:
        lines.append("  no dead letter")
    for one in answer.causes:
        code = "no code" if one["Code"] is None else f"code {one['Code']}"
        kind = one["MessageType"] or "no message type"
        keys = "" if one["Keys"] is None else f", {one['Keys']} keys"
        lines += [
            f"  {one['Unhandled']} unhandled of {one['Letters']}: {code}, {visible(kind)}, {one['Side']}",
            f"    like     {visible(one['ReasonLike'])}",
            f"    example  {one['ExampleId']}: {visible(one['ExampleReason'] or '')}",
            f"    between  {one['FirstUtc']:%Y-%m-%d %H:%M:%S} and {one['LastUtc']:%Y-%m-%d %H:%M:%S} UTC, "
            f"in {one['Conversations']} conversations{keys}",
        ]
    if any(one["OlderLeftOut"] for one in answer.causes):
        lines.append("  of the last 100,000 letters; there are older ones")
    return "\n".join([*lines, ""])

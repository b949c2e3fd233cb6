"""What is wrong with an installation: what usp_Health of each database says, and what it comes to."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from redial.config import Config
from redial.odbc import NO_PROCEDURE, NO_SUCH_OBJECT, NOT_ALLOWED, said, server_message
from redial.quoting import qualified, quote_name, visible
from redial.render.findings import NOT_LOOKED_AT, Finding, Priority


class Status(IntEnum):
    """What it comes to: the exit status. 1 is an error of the command line."""

    CLEAN = 0
    WARNINGS = 2
    ACT_NOW = 3
    NOT_ALL = 4


VERDICTS = {
    Status.CLEAN: "nothing is wrong",
    Status.WARNINGS: "look",
    Status.NOT_ALL: "not everything could be looked at",
    Status.ACT_NOW: "act now",
}
"""In words, the worst last: what is known to be wrong weighs more than what nobody could see."""
SEVERITIES = {
    Priority.NOTHING_FLOWS: "nothing flows",
    Priority.TODAY: "act today",
    Priority.LOOK: "look",
    Priority.TIDY_UP: "tidy up",
    Priority.TO_KNOW: "to know",
    Priority.FIGURE: "figure",
}
PROCEDURE = "usp_Health"
COLUMNS = (
    *("Priority", "Finding", "Object", "Figure", "Advice"),
    *("Statement", "Who", "Id", "Page"),
)
"""Of its result, as ``Row`` has them."""
_TOOK = re.compile(r"([a-z0-9-]+): (-?\d+) ms")
"""What @Debug = 1 prints of each query that was asked; below 0 where the clock was set back."""
_EARLIER = frozenset({8144, 8145, 8146})
"""Numbers of errors of a procedure that has not the parameter it is given (sys.messages)."""
WRONG_ARGUMENTS = frozenset({50170, 50175, 50177})
"""Of the procedures for dead letters (docs/errors.md)."""
GATE_CLOSED = 50172
EATEN = 8153
"""A warning (sys.messages). pyodbc keeps a driver's first word only, and it comes before the error's."""
_KILLED = frozenset({596, 6005, 10054})
"""Numbers of errors of a session that was ended, or whose server goes down (sys.messages)."""
_TIMEOUT, _CONNECTION = "HYT00", "08"
"""States of a driver's error: the time is over; what states of a connection that is gone begin with."""


def severity(priority: int) -> str:
    """How bad that is, in words."""
    return next((words for limit, words in SEVERITIES.items() if priority <= limit), "figure")


def worst(statuses: Iterable[Status]) -> Status:
    """What several come to."""
    return max(statuses, key=list(VERDICTS).index, default=Status.NOT_ALL)


@dataclass(frozen=True)
class Place:
    """Where it was looked."""

    server: str
    """Without a secret."""
    database: str

    def __str__(self) -> str:
        return f"{self.server}, database {self.database}" if self.database else self.server


@dataclass(frozen=True)
class Trouble:
    """Why nothing could be looked at: object, cause, next step."""

    what: str
    why: str
    next: str

    def __str__(self) -> str:
        said = visible(f"{self.what}: {self.why}")
        return f"{said}\n  Next: {visible(self.next)}"


class CannotLook(Exception):
    """usp_Health gave no answer, or a statement failed."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble


@dataclass(frozen=True)
class Row:
    """A line of usp_Health."""

    priority: int
    title: str
    object: str
    figure: str
    advice: str
    statement: str
    """As it can be run; empty: there is none."""
    who: str
    """Who may run it; empty: nobody need."""
    id: str
    page: str
    """Of docs/runbook."""

    @property
    def status(self) -> Status:
        """What this line alone comes to."""
        if self.id == NOT_LOOKED_AT:
            return Status.NOT_ALL
        if self.priority <= Priority.TODAY:
            return Status.ACT_NOW
        return Status.WARNINGS if self.priority <= Priority.TIDY_UP else Status.CLEAN

    def hides(self, finding: Finding) -> bool:
        """Whether this says that the finding was not looked at: it lists titles, which may have commas."""
        return self.id == NOT_LOOKED_AT and f", {finding.title}, " in f", {self.object}, "


@dataclass(frozen=True)
class Look:
    """What was seen in one database."""

    place: Place
    known: tuple[Finding, ...]
    """What there is to look for."""
    rows: tuple[Row, ...] = ()
    times: tuple[tuple[str, int], ...] = ()
    """Ids that were looked for, and the milliseconds each took."""
    milliseconds: int = 0
    trouble: Trouble | None = None

    @property
    def found(self) -> list[Row]:
        """What is wrong, to know, or a figure."""
        return [row for row in self.rows if row.id != NOT_LOOKED_AT]

    @property
    def unseen(self) -> list[Row]:
        """What was not looked at, and why."""
        return [row for row in self.rows if row.id == NOT_LOOKED_AT]

    @property
    def looked_for(self) -> list[str]:
        """Ids."""
        return [one for one, _ in self.times]

    @property
    def status(self) -> Status:
        """What it comes to."""
        if self.trouble:
            return Status.NOT_ALL
        return worst([Status.CLEAN, *(row.status for row in self.rows)])


@dataclass(frozen=True)
class Report:
    """What was seen everywhere."""

    config: str
    looks: tuple[Look, ...]

    @property
    def status(self) -> Status:
        """The worst."""
        return worst(look.status for look in self.looks)

    @property
    def found(self) -> list[tuple[Place, Row]]:
        """What was found everywhere, the worst first."""
        every = [(look.place, row) for look in self.looks for row in look.found]
        return sorted(every, key=lambda one: one[1].priority)


def look(
    connection: Any, config: Config, place: Place, known: Iterable[Finding], wait_seconds: int
) -> Look:
    """Ask usp_Health over a connection to its database. Raises CannotLook.

    known: what there is to look for. wait_seconds: how long the server may take.
    """
    name = qualified(config.schema_name, PROCEDURE)
    connection.timeout = max(1, wait_seconds)
    began = time.perf_counter()
    try:
        columns, lines, words = _asked(connection, f"EXECUTE {name} @Debug = 1;")
    except Exception as error:  # of any driver
        raise CannotLook(refused(error, name, config, place, wait_seconds)) from error
    took = round((time.perf_counter() - began) * 1000)
    if missing := [one for one in COLUMNS if one not in columns]:
        why = f"is of an earlier version: its report has no column {missing[0]}"
        raise CannotLook(Trouble(f"{name} on {place}", why, _deploy(config)))
    at = [columns.index(one) for one in COLUMNS]
    try:
        rows = [_row([line[column] for column in at]) for line in lines]
    except (TypeError, ValueError) as error:
        why = f"gives an answer that none of ours gives: {error}"
        raise CannotLook(Trouble(f"{name} on {place}", why, _deploy(config))) from error
    return _judged(place, tuple(known), rows, words, took)


def _asked(connection: Any, sql: str) -> tuple[list[str], list[Any], list[str]]:
    """Columns and lines of the last result, and every word that was printed. Raises the driver's errors."""
    columns: list[str] = []
    lines: list[Any] = []
    words: list[str] = []
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        more = True
        while more:
            words += said(cursor)
            if cursor.description:
                columns, lines = [one[0] for one in cursor.description], cursor.fetchall()
            more = cursor.nextset()
    return columns, lines, words


def _row(values: list[Any]) -> Row:
    priority, *texts = values
    return Row(int(priority), *("" if text is None else str(text) for text in texts))


def _judged(
    place: Place, known: tuple[Finding, ...], rows: list[Row], words: list[str], took: int
) -> Look:
    """What was looked for is what the procedure says it has asked, and has not failed."""
    asked = {found[1]: max(0, int(found[2])) for each in words if (found := _TOOK.fullmatch(each))}
    missed = {one.id for one in known if any(row.hides(one) for row in rows)}
    never = [one.title for one in known if one.id not in asked.keys() | missed]
    if never:
        advice = (
            f"{PROCEDURE} as it is installed does not look for these: it is of another version, of other "
            "choices, or was changed by hand. redial plan says which."
        )
        more = ("not looked at", ", ".join(never), "", advice, "", "", NOT_LOOKED_AT, "")
        rows = [*rows, Row(Priority.LOOK, *more)]
    mine = {one.id for one in known} | {row.id for row in rows}
    times = {one: ms for one, ms in asked.items() if one in mine and one not in missed}
    return Look(place, known, tuple(rows), tuple(times.items()), took)


def _deploy(config: Config) -> str:
    return f"redial deploy --config {config.name}"


def refused(
    error: Exception, name: str, config: Config, place: Place, wait_seconds: int
) -> Trouble:
    """What keeps a procedure or view of ours from answering, and what helps.

    name: its own, qualified. wait_seconds: how long it had.
    """
    number, text = server_message(error)
    shown = f"{text}{f' ({number})' if number else ''}"
    next = "redial verify says what is not as it was deployed; then run the command again"
    if _cut(error, number):
        shown = f"was cut off: {shown}"
        next = "run the command again; who ended it stands in the server's error log"
    elif number in (NO_PROCEDURE, NO_SUCH_OBJECT):
        shown, next = f"is not there, or this login may not see it ({number})", _deploy(config)
        if "monitor" not in config.installed_modules:
            next = f"switch on monitor in [modules] of {config.name}.toml; redial render; {next}"
    elif number == NOT_ALLOWED:
        role = quote_name(config.roles.operator)
        next = f"let a member of db_owner run there: ALTER ROLE {role} ADD MEMBER this login's user"
    elif number in WRONG_ARGUMENTS:
        next = "correct that, and run the command again"
    elif number == GATE_CLOSED:
        next = "open the gate when the work is done: usp_OpenGate; then run the command again"
    elif number == EATEN:
        shown = f"failed; the driver shows the warning before its error only: {shown}"
        next = f"execute {name} by hand there, which shows the error; doctor says who blocks"
    elif number in _EARLIER:
        shown, next = f"is of an earlier version: {shown}", _deploy(config)
    elif _state(error) == _TIMEOUT:
        shown = f"gave no answer within {max(1, wait_seconds)} seconds, and was stopped"
        next = "look who blocks it, or let it have longer: --wait-seconds"
    return Trouble(f"{name} on {place}", shown, next)


def _state(error: Exception) -> str:
    return str(error.args[0]) if error.args else ""


def _cut(error: Exception, number: int | None) -> bool:
    """Whether the session or the connection is gone."""
    return number in _KILLED or _state(error).startswith(_CONNECTION)


def run(connection: Any, statement: str, who: str, place: Place, wait_seconds: int) -> list[str]:
    """Run a statement of a finding; what the server says. Raises CannotLook, which names it.

    who: may run it. wait_seconds: how long it may take.
    """
    connection.timeout = max(1, wait_seconds)
    try:
        columns, lines, words = _asked(connection, statement)
    except Exception as error:  # of any driver
        number, text = server_message(error)
        shown = f"{text}{f' ({number})' if number else ''}"
        if _state(error) == _TIMEOUT:
            shown = f"took longer than {max(1, wait_seconds)} seconds, and was stopped"
        next = f"mend that, or let {who} run it; then the same command again"
        raise CannotLook(Trouble(f"{statement} on {place}", shown, next)) from error
    told = [", ".join(f"{c}: {v}" for c, v in zip(columns, line, strict=True)) for line in lines]
    return [*words, *told]

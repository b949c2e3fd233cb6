"""One set of scripts on a fresh embedded broker: what it said, and whether it ran.

Every batch runs to its end on a virtual clock: when a session waits, time goes on to the next
timer. All is bounded: statements, virtual time and, for what should be impossible, real time.
"""

from __future__ import annotations

import re
import time
import traceback
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from redial.tsql import TsqlSyntaxError, split_batches
from redial_broker.engine.clock import EPOCH, VirtualClock
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.session import Session

VIRTUAL_LIMIT = 4 * 3600.0
"""Seconds of virtual time after which a batch that still runs gets an attention."""

ROUNDS = 4000
"""Turns of the scheduler (200 statements each) a batch may take."""

TURN = 0.01
"""Virtual seconds a turn takes: a loop that waits for a time of day comes to its end."""

REAL_LIMIT = 60.0
"""Seconds of real time after which a batch counts as hanging."""

AFTERMATH = 120.0
"""Virtual seconds the broker gets after the last batch: timers, activation, transmission."""

REFUSED = range(60000, 61000)
_PLACE = re.compile(r" \(line \d+, column \d+\)\.?$")
_SETVAR = re.compile(r"^[ \t]*:setvar[ \t]+(\w+)[ \t]+(?:\"([^\"]*)\"|(\S+))[ \t]*$", re.I | re.M)
_TEMPLATE = re.compile(r"<[A-Za-z_]\w*,[ ]?[A-Za-z][\w()]*,[ ]?([^<>,\n]*)>")
"""A template parameter of Management Studio, <name, type, value>: its value stands for it."""
_COMMAND = re.compile(r"^[ \t]*(?::(?!:)|!!)[^\n]*$", re.MULTILINE)


@dataclass(slots=True)
class Fault:
    """An error the scripts met. where: file and line, or the ERRORLOG for activated procedures."""

    number: int
    text: str
    where: str

    @property
    def construct(self) -> str:
        """What a refusal names, without its position."""
        text = _PLACE.sub("", self.text)
        for start in (
            "The embedded broker does not support ",
            "Redial's T-SQL parser does not support ",
        ):
            text = text.removeprefix(start)
        return text.rstrip(".")


@dataclass(slots=True)
class Outcome:
    """How a set went. faults: errors in order; crash: a traceback; output: PRINT and rows.

    checked: expected outcomes looked at; unlike: those that are other than the article says.
    """

    batches: int = 0
    faults: list[Fault] = field(default_factory=list)
    crash: str = ""
    notes: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    checked: int = 0
    unlike: list[str] = field(default_factory=list)

    @property
    def refused(self) -> list[Fault]:
        """The refusals by name."""
        return [fault for fault in self.faults if fault.number in REFUSED]

    @property
    def errors(self) -> list[Fault]:
        """The errors that look like the server's own."""
        return [fault for fault in self.faults if fault.number not in REFUSED]


class Hanging(Exception):
    """A batch used up its bounds."""


def run_set(
    files: list[tuple[str, str]],
    before: str = "",
    switches: dict[str, object] | None = None,
    expect: dict[str, list[str]] | None = None,
    today: date | None = None,
) -> Outcome:
    """Run the files in order in one session of a fresh instance.

    before: what the scripts expect to find, as a script of its own; switches: the instance's;
    expect: queries and their rows at the end; today: when it is (see ``ScriptSet``).
    """
    outcome = Outcome()
    start = (datetime.combine(today, datetime.min.time()) - EPOCH) if today else timedelta()
    instance = Instance(seed=1, clock=VirtualClock(start.total_seconds()), switches=switches)
    session = instance.connect()
    variables: dict[str, str] = {}
    try:
        session = _file(instance, session, "before", before, outcome)
        outcome.batches = 0
        for name, text in files:
            session = _file(instance, session, name, substitute(text, variables), outcome)
        _settle(instance)
        for query, rows in (expect or {}).items():
            _compare(instance, query, rows, outcome)
    except Hanging as error:
        outcome.crash = f"hang: {error}"
    except Exception:
        outcome.crash = traceback.format_exc()
    _read_log(instance, outcome)
    return outcome


def substitute(text: str, variables: dict[str, str]) -> str:
    """The text as sqlcmd sends it: :setvar done, $(name) filled in, other commands left out.

    Template parameters of Management Studio get the value they propose.
    """
    for match in _SETVAR.finditer(text):
        quoted, bare = match.group(2), match.group(3)
        variables[match.group(1).lower()] = bare if quoted is None else quoted
    text = _COMMAND.sub("", text)
    text = _TEMPLATE.sub(lambda match: match.group(1), text)
    for name, value in variables.items():
        text = re.sub(rf"\$\({name}\)", lambda _, v=value: v, text, flags=re.IGNORECASE)
    return text


def _file(instance: Instance, session: Session, name: str, text: str, outcome: Outcome) -> Session:
    try:
        batches = split_batches(text)
    except TsqlSyntaxError as error:
        outcome.faults.append(Fault(error.number, error.message, f"{name}:{error.line}"))
        return session
    for batch in batches:
        for _ in range(min(batch.repeat_count, 20)):
            if instance.sessions.get(session.id) is not session:
                outcome.notes.append(f"{name}:{batch.first_line}: a new connection")
                session = instance.connect()
            _batch(instance, session, batch.sql, name, batch.first_line, outcome)
    return session


def _batch(
    instance: Instance, session: Session, sql: str, name: str, line: int, outcome: Outcome
) -> None:
    """Run one batch to its end and note what it said."""
    outcome.batches += 1
    sink = session.sink
    sink.clear()
    session.submit(Batch(sql))
    waited = _drive(instance, lambda: sink.finished, VIRTUAL_LIMIT, f"{name}:{line}")
    if not sink.finished:
        outcome.notes.append(f"{name}:{line}: {waited}; attention sent")
        session.attention()
        _drive(instance, lambda: sink.finished, 60.0, f"{name}:{line}")
    for message in sink.messages:
        place = f"{name}:{line + message.line - 1}"
        if message.severity > 10:
            where = f"{place} ({message.procedure})" if message.procedure else place
            outcome.faults.append(Fault(message.number, message.text, where))
        elif message.number not in (5701, 5703):
            outcome.output.append(f"{place}: {message.text}")
    for result in sink.result_sets:
        outcome.output.append(f"{name}:{line}: {result.names} {result.rows[:20]}")


def _drive(instance: Instance, done, limit: float, where: str) -> str:
    """Run until ``done``; returns why it stopped short, "" when it did not."""
    started, end = time.monotonic(), instance.clock.now() + limit
    for _ in range(ROUNDS):
        more = instance.pump()
        if done():
            return ""
        if time.monotonic() - started > REAL_LIMIT:
            raise Hanging(f"{where}: {REAL_LIMIT:.0f} s of real time")
        if more:
            instance.clock.advance(TURN)
            continue
        due = instance.engine.timers.next_due()
        if due is None:
            return "waits for ever"
        if due > end:
            return f"still waits after {limit:.0f} s of virtual time"
        instance.clock.advance(max(0.0, due - instance.clock.now()))
    return f"still runs after {ROUNDS} turns"


def _settle(instance: Instance) -> None:
    """Let activation, timers and transmission go on for a while."""
    _drive(instance, lambda: False, AFTERMATH, "after the last batch")


def _compare(instance: Instance, query: str, rows: list[str], outcome: Outcome) -> None:
    """Note where the end is not the one the article tells of."""
    answer = instance.connect().execute(query)
    found = [" ".join(str(value) for value in row) for r in answer.result_sets for row in r.rows]
    found += [error.text for error in answer.errors]
    outcome.checked += 1
    if found != rows:
        outcome.unlike.append(f"{query}: {found}, not {rows}")


def _read_log(instance: Instance, outcome: Outcome) -> None:
    for _, source, text in instance.error_log.lines:
        number = next((60001 for sign in ("does not support",) if sign in text), 0)
        if number:
            start = text.index("The embedded broker") if "The embedded broker" in text else 0
            outcome.faults.append(Fault(number, text[start:], f"ERRORLOG {source}"))
        elif "activated" in text and "rror" in text:
            outcome.notes.append(f"ERRORLOG: {text}")

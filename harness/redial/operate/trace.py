"""Where a message is: what usp_Trace answers in one database, or in two."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from redial.config import Config
from redial.quoting import quote_name

LANDED, PENDING, SET_ASIDE, UNKNOWN = 0, 2, 3, 4
"""What usp_Trace returns: landed; pending; a dead letter or given up; not known."""
WRONG_ARGUMENT = 50300
"""Of usp_Trace."""
AT_TARGET, NOT_HERE, NO_ROW = "at the target", "not known here", "gone"
QUEUED = "in the target's queue"
WORDS = (
    *("landed", "given to the hook", QUEUED, "pending", "dead letters", "dead letter"),
    *("given up", "skipped", AT_TARGET, "replayed", "sent again", NO_ROW, "never sent", NOT_HERE),
)
"""Every verdict. Of two databases' the one that stands further in front."""
REMOVED = (
    "The target has accounted for it and has no row of it: it has landed, and its row was removed."
)


@dataclass(frozen=True)
class Step:
    """A row of usp_Trace, ids and time as text, and the database it is of."""

    when: str | None
    step: str
    place: str
    conversation: str | None
    sequence: int | None
    key: str | None
    key_sequence: int | None
    message_id: str | None
    type: str | None
    bytes: int | None
    detail: str | None
    database: str


@dataclass(frozen=True)
class Traced:
    """An answer: what has happened, and the verdict."""

    steps: tuple[Step, ...]
    """In order of time."""
    word: str
    says: str
    code: int


def ask(connection: Any, config: Config, arguments: dict[str, Any]) -> Traced:
    """One answer of usp_Trace. arguments: by parameter. Raises the driver's errors."""
    connection.autocommit = True
    given = ", ".join(f"{parameter} = ?" for parameter in arguments)
    sql = (
        f"SET NOCOUNT ON; DECLARE @code int; EXECUTE @code = {quote_name(config.schema_name)}.[usp_Trace] "
        f"{given}; SELECT @code, DB_NAME();"
    )
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql, *arguments.values())
        rows = cursor.fetchall()
        cursor.nextset()
        code, database = cursor.fetchone()
    *steps, last = rows
    return Traced(tuple(_step(tuple(row), database) for row in steps), last[2], last[10], code)


def ask_both(
    connections: Sequence[Any], config: Config, arguments: dict[str, Any], rows: int | None = None
) -> tuple[Traced, Exception | None]:
    """What the databases say together: each is asked for the places that the other has named, too.

    connections: the sender's first. rows: as usp_Trace takes it. With the answer comes the error of the
    target's database where only that one gave none. Raises the driver's errors of the sender's.
    """
    far = {} if rows is None else {"@rows": rows}
    home, *others = connections
    answers = [ask(home, config, arguments | far)]
    for there in others:
        try:
            answers.append(ask(there, config, arguments | far))
            here, away = (_places(answer) for answer in answers[:2])
            answers += [ask(there, config, one | far) for one in _by_id(here - away)]
        except Exception as error:  # any driver's
            return merged(answers), error
        answers += [ask(home, config, one | far) for one in _by_id(away - here)]
    return merged(answers), None


def _by_id(places: set[tuple[str, int]]) -> list[dict[str, Any]]:
    """Parameters that ask for each; a message is in a few places only."""
    return [{"@id": one, "@sequence": number} for one, number in sorted(places)[:20]]


def merged(answers: Sequence[Traced]) -> Traced:
    """Every step once, in order of time, and the verdict that knows most."""
    steps = dict.fromkeys(one for said in answers for one in said.steps)
    best = min(answers, key=lambda said: WORDS.index(said.word))
    words = {said.word for said in answers}
    # A sender's side that is through with it knows better than a count of what has arrived.
    if AT_TARGET in words and best.word in (AT_TARGET, QUEUED) and words & {QUEUED, NOT_HERE}:
        best = Traced((), NO_ROW, REMOVED, UNKNOWN)
    in_order = sorted(steps, key=lambda one: (one.when is None, one.when or ""))
    return Traced(tuple(in_order), best.word, best.says, best.code)


def _places(answer: Traced) -> set[tuple[str, int]]:
    """Where one message was or is; none of a list, which each side makes for itself."""
    if answer.word == "dead letters" or not any(one.step in _OF_ONE for one in answer.steps):
        return set()
    return {
        (one.conversation, one.sequence)
        for one in answer.steps
        if one.conversation is not None and one.sequence is not None
    }


_OF_ONE = ("sent", "sent again", "landed", "copied", "dead letter", QUEUED)


def _step(row: tuple[Any, ...], database: str) -> Step:
    """Which of ids and times a driver gives as text is its own matter."""
    when, step, place, conversation, sequence, key, number, message, kind, size, detail = row
    shown = None if when is None else f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d}"
    ids = [None if one is None else str(one).upper() for one in (conversation, message)]
    return Step(
        shown, step, place, ids[0], sequence, key, number, ids[1], kind, size, detail, database
    )

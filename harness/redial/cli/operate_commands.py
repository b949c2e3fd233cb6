"""The commands of who operates an installation: they look, and what they change an operator may."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from redial.cli.deploy_commands import COMMON, NAMED, UNSAID

_NOT_GIVEN = "\0"
"""Of an option whose empty text says something: a text that no command line has."""


@task(
    iterable=["server"],
    help=COMMON
    | {
        "server": NAMED + "; repeatable, for one report of several",
        "format": "text, json, sarif, junit or html",
        "out": "file to write it to in that form; text is printed",
        "wait_seconds": "how long each server may take for its answer, and each statement of --fix; "
        "60 by default",
        "list": "every finding: how bad, id, title, who mends it; of --config only that one's",
        "explain": "an id: what it means, what to do, and the query that is asked",
        "fix": "an id: show the statements that mend what is found now",
        "yes": "with --fix: run them, one by one, and look again",
    },
)
def doctor(
    _: Context,
    server: list[str],
    config: str = "",
    database: str = "",
    format: str = "text",
    out: str = "",
    wait_seconds: int = 60,
    list: bool = False,
    explain: str = "",
    fix: str = "",
    yes: bool = False,
) -> None:
    """Say what is wrong, what helps and who may do it; 0 clean, 2 look, 3 act now, 4 not all was seen.

    3 is stronger than 4, and 4 than 2: what is known to be wrong weighs more than what nobody could see,
    and nobody's word is taken for health. 1 is an error of the command line. Whoever is a member of the
    operator role may ask; what only the server knows needs VIEW SERVER STATE.
    """
    from redial.cli.doctor import doctor as run

    run(
        config=config,
        servers=server,
        database=database or None,
        form=format,
        out=out or None,
        wait_seconds=wait_seconds,
        list_ids=list,
        explain=explain,
        fix=fix,
        yes=yes,
    )


@task(
    positional=["what"],
    help=COMMON
    | {
        "what": "a handle, conversation id or message id (a GUID), a row of Landing (0x...), else a key",
        "key": "WHAT is a key, whatever it looks like",
        "letter": "WHAT is the number of a dead letter",
        "sequence": "one message: its number within the dialog (from 0) or the key (from 1)",
        "rows": "how far to look back in a table without an index for this; 100000 by default",
        "format": "text or json",
    },
)
def trace(
    _: Context,
    what: str,
    config: str = "",
    server: str | None = None,
    database: str = "",
    key: bool = False,
    letter: bool = False,
    sequence: int = UNSAID,
    rows: int = UNSAID,
    format: str = "text",
) -> None:
    """Say where a message is or was; 0 landed, 2 pending, 3 a dead letter, 4 not known."""
    from redial.cli.trace import trace as run

    run(
        what,
        config=config,
        server=server,
        database=database or None,
        kind="key" if key else "letter" if letter else "",
        sequence=None if sequence == UNSAID else sequence,
        rows=None if rows == UNSAID else rows,
        form=format,
    )


@task(
    help=COMMON
    | {
        "out": "the page, FILE.html; FILE.json is written beside it. NAME-report.html here by default",
        "hours": "the period of throughput, latency and dialogs, up to now; 24 by default",
        "wait_seconds": "how long each question may take; 60 by default",
    }
)
def report(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    out: str = "",
    hours: int = 24,
    wait_seconds: int = 60,
) -> None:
    """Write a page on an installation: accounting, throughput, dialogs, dead letters, drift, history, doctor.

    It needs nothing from elsewhere to be read, and changes nothing. It ends as doctor does: 0 clean, 2 look,
    3 act now, 4 not all was seen. Where a right is missing the page says which.
    """
    from redial.cli.report import report as run

    run(
        config=config,
        server=server,
        database=database or None,
        out=out or None,
        hours=hours,
        wait_seconds=wait_seconds,
    )


@task(
    help=COMMON
    | {
        "replay": "send or process again what the filter takes; 1,000 letters a call",
        "mark": "accept them as they are: handled elsewhere, or not wanted",
        "purge": "remove them for good",
        "code": "filter: error number; 0: letters without one",
        "message_type": "filter: message type; an empty text: letters without one",
        "reason_like": "filter: pattern of the reason, as LIKE has it, from the list; empty: without one",
        "key": "filter: the message's key, where messages carry it",
        "conversation": "filter: the dialog's id or handle",
        "from_utc": "filter: dead letters from then on, as 2026-11-29T03:00",
        "to_utc": "filter: dead letters before then",
        "include_unhandled": "with --purge: also those nobody has handled; their messages are lost",
        "reason": "why; with --yes; kept with your login",
        "yes": "do it; without it is only shown what would be done",
        "format": "text or json",
        "wait_seconds": "how long each call may take; 60 by default",
    },
)
def deadletters(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    replay: bool = False,
    mark: bool = False,
    purge: bool = False,
    code: str = _NOT_GIVEN,
    message_type: str = _NOT_GIVEN,
    reason_like: str = _NOT_GIVEN,
    key: str = _NOT_GIVEN,
    conversation: str = _NOT_GIVEN,
    from_utc: str = _NOT_GIVEN,
    to_utc: str = _NOT_GIVEN,
    include_unhandled: bool = False,
    reason: str = "",
    yes: bool = False,
    format: str = "text",
    wait_seconds: int = 60,
) -> None:
    """Count dead letters by cause; replay, mark or purge what a filter takes, shown first, done with --yes.

    Where the target has a database of its own, both are worked on. Whoever is a member of the operator
    role may ask and act. Ends with 0, or with 1 where a database failed: what was done before it stays.
    """
    from redial.cli.dead_letters import deadletters as run

    given = {"code": code, "messageType": message_type, "reasonLike": reason_like, "key": key}
    given |= {"conversation": conversation, "fromUtc": from_utc, "toUtc": to_utc}
    verbs = {"replay": replay, "mark": mark, "purge": purge}
    run(
        config=config,
        server=server,
        database=database or None,
        given={name: word for name, word in given.items() if word != _NOT_GIVEN},
        verbs=tuple(verb for verb, on in verbs.items() if on),
        include_unhandled=include_unhandled,
        reason=reason,
        yes=yes,
        form=format,
        wait_seconds=wait_seconds,
    )


@task(
    help=COMMON
    | {
        "every": "seconds between two looks, 0.5 to 3600; 2 by default",
        "once": "print it and end: no rates, for these take two looks",
        "format": "text, or with --once json",
        "wait_seconds": "how long each answer may take; 15 by default",
    },
)
def top(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    every: float = 2.0,
    once: bool = False,
    format: str = "text",
    wait_seconds: int = 15,
) -> None:
    """Show gate, queues, rates, dialogs, who blocks and the last errors, drawn anew until q is pressed.

    A connection that is lost is opened again, and what was seen last stays. Whoever is a member of the
    operator role may ask.
    """
    from redial.cli.top import top as run

    run(
        config=config,
        server=server,
        database=database or None,
        every=every,
        once=once,
        form=format,
        wait_seconds=wait_seconds,
    )


@task(
    help=COMMON
    | {
        "port": "serve them there until interrupted; 0 takes a free one",
        "address": "with --port: 127.0.0.1 by default, for a scraper on this machine; 0.0.0.0 for any",
        "out": "a file to replace by them, for a textfile collector",
        "wait_seconds": "how long each answer may take; 15 by default",
    },
)
def metrics(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    port: int = UNSAID,
    address: str = "127.0.0.1",
    out: str = "",
    wait_seconds: int = 15,
) -> None:
    """Give the figures to Prometheus: printed, in a file, or on a port; 4 where a database was not asked.

    Whoever is a member of the operator role may ask. Nothing is kept between two answers.
    """
    from redial.cli.metrics import metrics as run

    run(
        config=config,
        server=server,
        database=database or None,
        port=None if port == UNSAID else port,
        address=address,
        out=out or None,
        wait_seconds=wait_seconds,
    )

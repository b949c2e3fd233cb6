"""The commands of who operates an installation: they look, and what they change an operator may."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from redial.cli.deploy_commands import COMMON, NAMED, UNSAID


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
        "hours": "the period of throughput, latency and dialogs, up to now",
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

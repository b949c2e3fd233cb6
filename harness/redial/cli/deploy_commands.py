"""The commands for an installation on a server; ``commands`` has the others."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

_NAMED = (
    "an ODBC connection string, @FILE whose first line is one, or 'embedded' for a broker that goes "
    "away; also from REDIAL_SERVER"
)
_FROM = "folder with rendered files to use instead of sql/generated/NAME: a CI's artefact"
CONFIG = "name of a file in sql/configs"
_CONFIG = CONFIG + "; left out, the only one there"
_DATABASE = "database to work in, instead of the one the connection string names"
_WAIT = "how long to wait for locks, another deployment, and what is in the way of a drain; 60 by default"
_UNDO = (
    "take back what somebody has chosen, or added to what is ours, as the plan says: rights, indexes, queues "
    "that are off; never rows"
)
_OVERWRITE = (
    "replace modules that were changed by hand; without it they are named, and nothing is done"
)
_LOSS = "TABLE=ROWS, a table of an earlier choice to drop with so many rows; repeatable"
_UNSAID = -(2**63)
"""Of an option with a number: a default that is the number of nothing."""
_NOT_GIVEN = "\0"
"""Of an option whose empty text says something: a text that no command line has."""
_COMMON = {"config": _CONFIG, "server": _NAMED, "database": _DATABASE}


@task(
    iterable=["allow_loss"],
    help=_COMMON
    | {
        "create": "make the database if it is not there, and the target's where that is another",
        "mutant": "comparison only: a name of sql/mutants or sql/comparators to install instead",
        "wait_seconds": _WAIT,
        "plan": "file of plan --out: refused when the server is not as it was then",
        "from": _FROM,
        "overwrite": _OVERWRITE,
        "undo": _UNDO,
        "allow_loss": _LOSS,
    },
)
def deploy(
    _: Context,
    allow_loss: list[str],
    config: str = "",
    server: str | None = None,
    database: str = "",
    create: bool = False,
    mutant: str = "",
    wait_seconds: int = 60,
    plan: str = "",
    from_: str = "",
    overwrite: bool = False,
    undo: bool = False,
) -> None:
    """Install what sql/generated holds and verify it; where nothing differs, nothing is done."""
    from redial.cli.deploy import deploy as run

    run(
        config=config,
        server=server,
        database=database or None,
        create=create,
        mutant=mutant or None,
        wait_seconds=wait_seconds,
        plan_file=plan or None,
        from_folder=from_ or None,
        overwrite=overwrite,
        undo=undo,
        allow_loss=allow_loss,
    )


@task(
    help=_COMMON
    | {
        "yes": "the configuration's name: do it; without it only the plan is shown",
        "purge_data": "drop tables, roles and schema too",
        "purge_rows": "with --purge-data: how many rows may be lost; the plan names them",
        "wait_seconds": _WAIT,
        "print_only": "the T-SQL that would run, and nothing else",
    }
)
def uninstall(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    yes: str = "",
    purge_data: bool = False,
    purge_rows: int = 0,
    wait_seconds: int = 60,
    print_only: bool = False,
) -> None:
    """Say what a removal drains, drops and keeps; with --yes NAME, do it. Tables stay."""
    from redial.cli.uninstalling import uninstall as run

    run(
        config=config,
        server=server,
        database=database or None,
        purge_data=purge_data,
        purge_rows=purge_rows,
        wait_seconds=wait_seconds,
        yes=yes,
        print_only=print_only,
    )


@task(help=_COMMON | {"from": _FROM})
def verify(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    from_: str = "",
) -> None:
    """Look whether an installation is what its files make, in both directions."""
    from redial.cli.deploy import verify as run

    run(config, server, database or None, from_ or None)


@task(help=_COMMON)
def drift(_: Context, config: str = "", server: str | None = None, database: str = "") -> None:
    """Look whether an installation is what its last deployment made; the database keeps those files."""
    from redial.cli.deploy import drift as run

    run(config, server, database or None)


@task(
    iterable=["module"],
    help=_COMMON | {"module": "a procedure, function, view or trigger; repeatable", "from": _FROM},
)
def adopt(
    _: Context,
    module: list[str],
    config: str = "",
    server: str | None = None,
    database: str = "",
    from_: str = "",
) -> None:
    """Take a change that was made by hand into sql/adopted; plan, deploy and verify then keep it."""
    from redial.cli.deploy import adopt as run

    run(
        config=config,
        server=server,
        database=database or None,
        modules=module,
        from_folder=from_ or None,
    )


@task(
    iterable=["allow_loss"],
    help=_COMMON
    | {
        "format": "text, json, markdown, html, junit or sarif",
        "out": "file to write it to as json, for deploy --plan",
        "from": _FROM,
        "sql": "print what would run, and nothing else",
        "overwrite": _OVERWRITE,
        "undo": _UNDO,
        "allow_loss": _LOSS,
        "exit-code": "what is not 0: changes (2) and refusals (3), the default; or blocked, so that "
        "changes are 0 and a refusal is 3",
    },
    optional=["exit_code"],
)
def plan(
    _: Context,
    allow_loss: list[str],
    config: str = "",
    server: str | None = None,
    database: str = "",
    format: str = "text",
    out: str = "",
    from_: str = "",
    sql: bool = False,
    overwrite: bool = False,
    undo: bool = False,
    exit_code: str = "changes",
) -> None:
    """Say what a deployment would change, and change nothing; 0 nothing, 2 changes, 3 blocked."""
    from redial.cli.deploy import plan as run

    run(
        config=config,
        server=server,
        database=database or None,
        form=format,
        out=out or None,
        from_folder=from_ or None,
        sql=sql,
        overwrite=overwrite,
        undo=undo,
        allow_loss=allow_loss,
        exit_code=exit_code,
    )


@task(
    help=_COMMON
    | {"attempt": "number of one that was tried: with its plan", "format": "text or json"}
)
def history(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    attempt: int = _UNSAID,
    format: str = "text",
) -> None:
    """Say what was deployed, when and by whom, and what was tried."""
    from redial.cli.history import history as run

    run(
        config=config,
        server=server,
        database=database or None,
        attempt=None if attempt == _UNSAID else attempt,
        form=format,
    )


@task(
    help=_COMMON
    | {
        "to": "number in redial history; by default the last deployment of other files",
        "from": "folder of rendered files or of another checkout; or a commit, tag or branch of git",
        "yes": "do it; without it only the plan is shown",
        "wait_seconds": _WAIT,
        "overwrite": _OVERWRITE,
        "undo": _UNDO,
    }
)
def rollback(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    to: int = _UNSAID,
    from_: str | None = None,
    yes: bool = False,
    wait_seconds: int = 60,
    overwrite: bool = False,
    undo: bool = False,
) -> None:
    """Plan the way back to an earlier deployment, folder or commit; with --yes, go it. Exits as plan."""
    from redial.cli.history import rollback as run

    run(
        config=config,
        server=server,
        database=database or None,
        to=None if to == _UNSAID else to,
        from_source=from_,
        yes=yes,
        wait_seconds=wait_seconds,
        overwrite=overwrite,
        undo=undo,
    )


@task(
    help=_COMMON
    | {
        "from": _FROM,
        "accept": "write what is there besides the files into sql/accepted.toml; keeps nothing else",
        "reason": "with --accept: why it stays",
        "until": "with --accept: last day of it, as 2027-01-31",
        "finding": "with --accept: only this one, as verify prints it; repeatable",
        "wait_seconds": _WAIT,
    },
    iterable=["finding"],
)
def baseline(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    from_: str = "",
    accept: bool = False,
    reason: str = "",
    until: str = "",
    finding: list[str] | None = None,
    wait_seconds: int = 60,
) -> None:
    """Keep what is there as known: the files another tool has run, and what surrounds the installation."""
    from redial.cli.history import baseline as run

    run(
        config=config,
        server=server,
        database=database or None,
        from_folder=from_ or None,
        accept=accept,
        reason=reason,
        until=until,
        finding=finding or (),
        wait_seconds=wait_seconds,
    )


@task(help=_COMMON | {"from": _FROM, "wait_seconds": _WAIT})
def repair(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    from_: str = "",
    wait_seconds: int = 60,
) -> None:
    """Put the history right: attempts that were cut off, kept files that cannot be read, the last row."""
    from redial.cli.history import repair as run

    run(
        config=config,
        server=server,
        database=database or None,
        from_folder=from_ or None,
        wait_seconds=wait_seconds,
    )


@task(
    iterable=["server"],
    help=_COMMON
    | {
        "server": _NAMED + "; repeatable, for one report of several",
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
    help=_COMMON
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
    role may ask and act.
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

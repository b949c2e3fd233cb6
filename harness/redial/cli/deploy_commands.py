"""The commands that change an installation on a server, or compare it; ``commands`` has the others."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

NAMED = (
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
UNSAID = -(2**63)
"""Of an option with a number: a default that is the number of nothing."""
COMMON = {"config": _CONFIG, "server": NAMED, "database": _DATABASE}


@task(
    iterable=["allow_loss"],
    help=COMMON
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
    help=COMMON
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


@task(help=COMMON | {"from": _FROM})
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


@task(help=COMMON)
def drift(_: Context, config: str = "", server: str | None = None, database: str = "") -> None:
    """Look whether an installation is what its last deployment made; the database keeps those files."""
    from redial.cli.deploy import drift as run

    run(config, server, database or None)


@task(
    iterable=["module"],
    help=COMMON | {"module": "a procedure, function, view or trigger; repeatable", "from": _FROM},
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
    help=COMMON
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
    help=COMMON
    | {"attempt": "number of one that was tried: with its plan", "format": "text or json"}
)
def history(
    _: Context,
    config: str = "",
    server: str | None = None,
    database: str = "",
    attempt: int = UNSAID,
    format: str = "text",
) -> None:
    """Say what was deployed, when and by whom, and what was tried."""
    from redial.cli.history import history as run

    run(
        config=config,
        server=server,
        database=database or None,
        attempt=None if attempt == UNSAID else attempt,
        form=format,
    )


@task(
    help=COMMON
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
    to: int = UNSAID,
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
        to=None if to == UNSAID else to,
        from_source=from_,
        yes=yes,
        wait_seconds=wait_seconds,
        overwrite=overwrite,
        undo=undo,
    )


@task(
    help=COMMON
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


@task(help=COMMON | {"from": _FROM, "wait_seconds": _WAIT})
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

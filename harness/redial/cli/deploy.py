"""``redial plan``, ``deploy``, ``uninstall`` and ``verify``."""

from __future__ import annotations

from pathlib import Path

from redial.cli.configs import load_named
from redial.cli.errors import UserError, command
from redial.cli.plan import shown
from redial.cli.server import open_server
from redial.config import Config
from redial.deploy import Connect, Plan, apply, connect_odbc, mend
from redial.deploy import plan as plan_of
from redial.deploy import uninstall as remove
from redial.deploy import verify as findings_of
from redial.deploy.plan import NOTHING, mark_of, repairs
from redial.deploy.verify import look
from redial.project import project
from redial.render import check, read

FORMATS = ("text", "json")


@command
def plan(
    config: str,
    server: str | None = None,
    database: str | None = None,
    form: str = "text",
    out: str | None = None,
    from_folder: str | None = None,
    sql: bool = False,
) -> int:
    """Say what a deployment would change, and change nothing: 0 nothing, 2 changes, 3 blocked.

    form: text or json. out: a file to write it to, for ``deploy --plan``. sql: print what would run.
    """
    if form not in FORMATS:
        raise UserError(f"--format {form}", "is not known", f"use one of: {', '.join(FORMATS)}")
    model = load_named(config)
    files = reviewed(config, model, from_folder)
    with open_server(server, database, must_be_named=True) as target:
        made = plan_of(model, connect_odbc(target.odbc), target.label, files)
    print(made.to_json() if form == "json" else shown(made), end="")
    if sql and made.status and form == "text":
        print(files["install.sql"], end="")
    if out:
        Path(out).write_text(made.to_json(), "utf-8")
    return made.status


@command
def deploy(
    config: str,
    server: str | None = None,
    database: str | None = None,
    create: bool = False,
    mutant: str | None = None,
    wait_seconds: int | None = None,
    plan_file: str | None = None,
    from_folder: str | None = None,
) -> int:
    """Install what was reviewed and verify it; 1 when verification finds something.

    mutant: a variant of sql/mutants or a design of sql/comparators to install instead, for
    comparison only; there is nothing of ours to verify then. plan_file: of ``plan --out``; nothing
    is done when the server is not as it was then. from_folder: instead of sql/generated.
    """
    model = load_named(config)
    files = None if mutant else reviewed(config, model, from_folder)
    with open_server(server, database, create, must_be_named=True) as target:
        what = f"{config}, COMPARISON ONLY: {mutant}," if mutant else config
        print(f"deploying {what} to {target.label}")
        connect = connect_odbc(target.odbc)
        if files is None:
            report = apply(model, connect, _progress, mutant, wait_seconds=wait_seconds)
            print(f"{len(report.files)} files, {report.batches} batches")
            print("not verified: that looks for the procedures we ship. Next: docs/comparators.md")
            return 0
        made = plan_of(model, connect, target.label, files)
        if plan_file:
            _unmoved(made, plan_file)
        if made.status == NOTHING:
            print(
                "nothing to do: what is there is as the files make it, or not for a deployment to mend"
            )
            return _told(findings_of(model, connect, files))
        report = apply(model, connect, _progress, files=files, wait_seconds=wait_seconds)
        print(f"{len(report.files)} files, {report.batches} batches")
        _repair(model, connect, files)
        return _told(findings_of(model, connect, files))


def _told(findings: list[str]) -> int:
    """Print what verification found; the exit status."""
    for line in findings:
        print(line)
    if not findings:
        print("verified: everything is there, as the files make it, and switched on")
    return 1 if findings else 0


def reviewed(name: str, config: Config, from_folder: str | None) -> dict[str, str]:
    """The files somebody has looked at: sql/generated/NAME, or a folder a CI has kept.

    Raises UserError when they are not there, were changed, or are not what is rendered today.
    """
    folder = Path(from_folder) if from_folder else project().generated / name
    what = f"--from {folder}" if from_folder else f"sql/generated/{name}"
    if not folder.is_dir():
        raise UserError(what, "is not there", "redial render; look at what it writes, and keep it")
    try:
        files = read(folder)
    except ValueError as error:
        raise UserError(what, str(error), "redial render; look at what it writes again") from error
    if f"VALUES (N'{config.name}'," not in files.get("90_deployment.data.sql", ""):
        raise UserError(
            what, f"holds the files of another configuration than {name}", "name the right folder"
        )
    if not from_folder and (stale := check(config, folder)):
        first, *more = [line.partition(";")[0] for line in stale]
        raise UserError(
            what,
            f"is not what the configuration and the templates say: {first}"
            + (f", and {len(more)} files more" if more else ""),
            "redial render; look at the difference, and keep it",
        )
    return files


def _unmoved(made: Plan, file: str) -> None:
    """Raises UserError when the plan was made for another state, or is none."""
    try:
        planned = mark_of(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"--plan {file}", str(error), "redial plan --out writes one") from error
    for what, was, now in zip(
        ("configuration", "set of files", "installation", "broker"),
        planned,
        (made.config, made.files, made.fingerprint, made.broker),
        strict=True,
    ):
        if was != now:
            raise UserError(
                f"--plan {file}",
                f"the {what} is not what it was planned for; nothing was done",
                "redial plan again, and look at it",
            )


def _repair(config: Config, connect: Connect, files: dict[str, str]) -> None:
    """Undo what was changed by hand and no file undoes; print each statement."""
    todo = {
        one.database: statements
        for one in look(config, connect, files)
        if (statements := repairs(one, config.schema_name))
    }
    for database, statements in todo.items():
        for text in statements:
            print(f"  repairing in {database}: {text}")
    if todo:
        mend(config, connect, todo)


@command
def uninstall(
    config: str,
    server: str | None = None,
    database: str | None = None,
    purge_data: bool = False,
    purge_rows: int = 0,
    wait_seconds: int | None = None,
) -> None:
    """Drain and remove a config; tables stay unless ``purge_data``, and rows beyond ``purge_rows``."""
    model = load_named(config)
    with open_server(server, database, must_be_named=True) as target:
        print(f"uninstalling {config} from {target.label}")
        report = remove(
            model,
            connect_odbc(target.odbc),
            purge_data,
            _progress,
            purge_rows=purge_rows,
            wait_seconds=wait_seconds,
        )
        print(f"{len(report.files)} files, {report.batches} batches")


@command
def verify(
    config: str,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
) -> int:
    """Look whether an installation is whole; 1 when it is not."""
    model = load_named(config)
    files = reviewed(config, model, from_folder)
    with open_server(server, database, must_be_named=True) as target:
        findings = findings_of(model, connect_odbc(target.odbc), files)
    for line in findings:
        print(line)
    print(f"{len(findings)} findings on {target.label}")
    return 1 if findings else 0


def _progress(name: str, number: int, total: int) -> None:
    """One line per file: what is being sent is named before it can fail."""
    print(f"  {number:>2}/{total} {name}")

"""``redial plan``, ``deploy``, ``verify``, ``drift`` and ``adopt``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from redial.cli.accepted import accepted
from redial.cli.adopting import write
from redial.cli.configs import load_named
from redial.cli.errors import UserError, command, quoted, waits
from redial.cli.installing import (
    Allowed,
    heard,
    install,
    progress,
    reviewed,
    script,
    surveyed,
    tables_are_there,
    told,
)
from redial.cli.plan import shown
from redial.cli.plan_forms import FORMS
from redial.cli.server import open_server
from redial.config import Config
from redial.deploy import Connect, Plan, Survey, apply, connect_odbc
from redial.deploy.accepting import accept
from redial.deploy.apply import looking
from redial.deploy.fingerprint.model import REMOVED
from redial.deploy.history import REPAIR, deployments, kept_files, not_to_read
from redial.deploy.live import how_many
from redial.deploy.loss import parsed
from redial.deploy.plan import BLOCKED, CHANGES, NOTHING, mark_of
from redial.deploy.verify import ANEW, GONE, Look, findings, home_of, look
from redial.server import label_of

FAILS = ("changes", "blocked")
"""Words of plan --exit-code: what a CI's step fails for."""


@command
def plan(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    form: str = "text",
    out: str | None = None,
    from_folder: str | None = None,
    sql: bool = False,
    overwrite: bool = False,
    undo: bool = False,
    allow_loss: Iterable[str] = (),
    exit_code: str | bool = FAILS[0],
) -> int:
    """Say what a deployment would change, and change nothing: 0 nothing, 2 changes, 3 blocked.

    form: a name of FORMS. out: a file to write it to, for ``deploy --plan``. sql: print what would run,
    and nothing else. overwrite, undo, allow_loss: as if deploy were told so. exit_code: of FAILS; with
    blocked, changes are 0. True: the option without a word.
    """
    if exit_code is not True and exit_code not in FAILS:
        raise UserError(f"--exit-code {exit_code}", "is not known", f"use: {' or '.join(FAILS)}")
    if form not in FORMS:
        raise UserError(f"--format {form}", "is not known", f"use one of: {', '.join(FORMS)}")
    model = load_named(config)
    config = model.name
    files, stays = reviewed(config, model, from_folder), accepted()
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        allowed = Allowed(overwrite, _losses(allow_loss), accepted=stays, undo=undo)
        seen = _survey(model, connect_odbc(target.odbc), files, allowed)
        tables_are_there(seen.looks, allowed.losses)
    if sql:
        runs = seen.plan.status == CHANGES
        print(script(model, seen, files, allowed) if runs else "", end="")
        for line in seen.plan.blocked:
            print(f"blocked: {line}", file=sys.stderr)
    else:
        print(FORMS[form](seen.plan), end="")
    if out:
        Path(out).write_text(seen.plan.to_json(), "utf-8")
    quiet = exit_code == FAILS[1] and seen.plan.status == CHANGES
    return NOTHING if quiet else seen.plan.status


@command
def deploy(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    create: bool = False,
    mutant: str | None = None,
    wait_seconds: int | None = None,
    plan_file: str | None = None,
    from_folder: str | None = None,
    overwrite: bool = False,
    undo: bool = False,
    allow_loss: Iterable[str] = (),
) -> int:
    """Install what was reviewed and verify it; 1 when verification finds something, 3 when refused.

    mutant: a variant of sql/mutants or a design of sql/comparators to install instead, for
    comparison only; there is nothing of ours to verify then. plan_file: of ``plan --out``; nothing
    is done when the server is not as it was then. from_folder: instead of sql/generated.
    overwrite: replace texts that were changed by hand. undo: take back what somebody has chosen, or
    added to what is ours. allow_loss: TABLE=ROWS, each a table to drop.
    """
    waits(wait_seconds)
    model = load_named(config)
    config = model.name
    files = None if mutant else reviewed(config, model, from_folder)
    allowed = Allowed(overwrite, _losses(allow_loss), wait_seconds, accepted(), undo)
    with open_server(
        server, database, create, must_be_named=True, labelled=bool(mutant), config=model
    ) as target:
        connect = connect_odbc(target.odbc)
        if files is None:
            print(f"deploying {config}, COMPARISON ONLY: {mutant}, to {target.label}")
            report = apply(model, connect, progress, mutant, wait_seconds=wait_seconds, heard=heard)
            print(f"{len(report.files)} files, {report.batches} batches")
            print("not verified: that looks for the procedures we ship. Next: docs/comparators.md")
            return 0
        seen = _survey(model, connect, files, allowed)
        print(f"deploying {config} to {seen.plan.server}")
        tables_are_there(seen.looks, allowed.losses)
        if plan_file:
            _unmoved(seen.plan, plan_file)
        if seen.plan.blocked:
            print(shown(seen.plan), end="")
            print("nothing was done")
            return BLOCKED
        if seen.plan.status == NOTHING:
            print(
                "nothing to do: what is there is as the files make it, or not for a deployment to mend"
            )
            return told(seen.looks)
        return install(model, connect, files, seen, "deploy", allowed)


def _losses(said: Iterable[str]) -> dict[str, int]:
    try:
        return parsed(said)
    except ValueError as error:
        raise UserError(
            "--allow-loss", str(error), "redial plan names the tables and their rows"
        ) from error


def _survey(config: Config, connect: Connect, files: dict[str, str], allowed: Allowed) -> Survey:
    """Look over a connection of its own: switching Service Broker on needs the database for itself."""
    with looking(connect, config, allowed.wait_seconds) as connection:
        return surveyed(config, connection, files, allowed)


def _unmoved(made: Plan, file: str) -> None:
    """Raises UserError when the plan was made for another state, or is none."""
    try:
        planned = mark_of(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"--plan {file}", _unreadable(error), "redial plan --out writes one"
        ) from error
    for what, was, now in zip(
        ("configuration", "set of files", "installation", "broker", _TOLD),
        planned,
        (made.config, made.files, made.fingerprint, made.broker, str(made.told)),
        strict=True,
    ):
        if was != now:
            raise UserError(
                f"--plan {file}",
                f"the {what} is not what it was planned for; nothing was done",
                "redial plan again, and look at it",
            )


def _unreadable(error: OSError | ValueError) -> str:
    """Why a plan's file could not be read."""
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8, so it is no plan that redial plan --out has written"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


_TOLD = "set of options (--overwrite, --undo, --allow-loss, sql/accepted.toml)"


@command
def verify(
    config: str,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
) -> int:
    """Look whether an installation is whole; 1 when it is not."""
    model = load_named(config)
    config = model.name
    files, stays = reviewed(config, model, from_folder), accepted()
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        return _said(accept(look(model, connect_odbc(target.odbc), files), config, stays))


@command
def drift(config: str, server: str | None = None, database: str | None = None) -> int:
    """Look whether an installation is as its last deployment made it; 1 when it is not.

    It is compared with the files that deployment has kept in the database: none are needed here.
    """
    model, stays = load_named(config), accepted()
    config = model.name
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        connect = connect_odbc(target.odbc)
        with looking(connect, model) as connection:
            files = _last(connection, model)
        return _said(accept(look(model, connect, files), config, stays))


def _last(connection: Any, config: Config) -> dict[str, str]:
    """The files of the last deployment. Raises UserError where there are none."""
    done, what = deployments(connection, config.schema_name), f"drift of {config.name}"
    if not done:
        raise UserError(what, "nothing is deployed", "redial deploy")
    last = done[-1]
    if last.version == REMOVED:
        raise UserError(what, GONE, ANEW)
    kept = kept_files(connection, config.schema_name, last.content)
    if last.content in kept:
        return kept[last.content]
    if last.kept:
        raise UserError(what, not_to_read(last.number), REPAIR)
    raise UserError(
        what,
        "the files of its last deployment were not kept",
        "redial baseline keeps those that another tool has run",
    )


def _said(looks: list[Look]) -> int:
    """Print what was found; the exit status."""
    found = findings(looks)
    for line in found:
        print(line)
    for line in (line for one in looks for line in one.notes()):
        print(f"note: {line}")
    where = label_of(home_of(looks).version or "a server that tells nothing")
    print(f"{how_many(len(found), 'finding')} on {where}")
    return 1 if found else 0


@command
def adopt(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    modules: Iterable[str] = (),
    from_folder: str | None = None,
) -> None:
    """Take a change that was made by hand into the project folder; plan and deploy then keep it."""
    model = load_named(config)
    config = model.name
    files = reviewed(config, model, from_folder, as_rendered=True)
    if not (names := list(modules)):
        raise UserError(
            "adopt", "--module is missing", "redial plan names what was changed by hand"
        )
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        looks = look(model, connect_odbc(target.odbc), files)
    for name in names:
        one = next((each for each in looks if _has(each, name)), looks[0])
        path = write(config, one, name, files, f"database {one.database}")
        print(f"adopted: {quoted(path)}. Next: look at it, keep it with the project; redial deploy")


def _has(one: Look, module: str) -> bool:
    return any(each.thing.name == module for each in one.differences)

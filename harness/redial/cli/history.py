"""``redial history``, ``rollback``, ``baseline`` and ``repair``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from redial.cli.configs import load_named
from redial.cli.errors import UserError, command
from redial.cli.installing import Allowed, install, reviewed
from redial.cli.plan import SHORT, shown
from redial.cli.server import open_server
from redial.config import Config
from redial.deploy import connect_odbc, survey
from redial.deploy.apply import looking
from redial.deploy.baseline import acceptable, keep_baseline
from redial.deploy.history import (
    DONE,
    Attempt,
    Deployment,
    NoWayBack,
    attempts,
    content_of,
    deployments,
    files_of,
)
from redial.deploy.mending import repair_history
from redial.deploy.plan import BLOCKED, CHANGES, NOTHING
from redial.deploy.verify import look_over


@command
def history(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    attempt: int | None = None,
    form: str = "text",
) -> None:
    """Say what was deployed, and what was tried.

    attempt: only this one, with its plan. form: text or json.
    """
    if form not in ("text", "json"):
        raise UserError(f"--format {form}", "is not known", "use one of: text, json")
    model = load_named(config)
    config = model.name
    with open_server(server, database, must_be_named=True, config=model) as target:
        with looking(connect_odbc(target.odbc), model) as connection:
            done = deployments(connection, model.schema_name)
            tried = attempts(connection, model.schema_name)
        label = target.label
    if attempt is not None:
        tried, done = [one for one in tried if one.number == attempt], []
        if not tried:
            raise UserError(f"--attempt {attempt}", "was never made here", "redial history")
    if form == "json":
        said = {"deployed": [asdict(one) for one in done], "tried": [asdict(one) for one in tried]}
        print(json.dumps(said, default=str, indent=1, ensure_ascii=False))
        return
    print(f"history: configuration {config}, {label}")
    if not done and not tried:
        print("nothing was ever deployed here")
    for title, lines in (("deployed", map(_deployed, done)), ("tried", map(_tried, tried))):
        shown_lines = [f"  {line}" for line in lines]
        if shown_lines:
            print("\n".join(["", f"{title}:", *shown_lines]))
    if attempt is not None:
        if tried[0].outcome == DONE and tried[0].message:
            print(f"\n{tried[0].message}")
        print(f"\nplan:\n{tried[0].changes or 'no changes were planned'}")


def _deployed(one: Deployment) -> str:
    back = {True: "", False: "; files not kept", None: "; whether files are kept is hidden"}[
        one.kept
    ]
    when = f"{one.when:%Y-%m-%d %H:%M:%S}"
    return f"{one.number:>4}  {when}  {one.content[:SHORT]}  {one.version} by {one.by}{back}"


def _tried(one: Attempt) -> str:
    took = f" in {(one.ended - one.started).total_seconds():.1f} s" if one.ended else ""
    change = f"{one.before[:SHORT] or 'nothing'} -> {one.after[:SHORT]}"
    source = f", source {one.revision}" if one.revision else ""
    where = f" from {one.host}" if one.host else ""
    why = f": {one.message}" if one.message and one.outcome != DONE else ""
    return (
        f"{one.number:>4}  {one.started:%Y-%m-%d %H:%M:%S}  {one.what} {one.outcome}{took}  {change}  "
        f"by {one.by}{where}, redial {one.version}{source}{why}"
    )


@command
def rollback(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    to: int | None = None,
    yes: bool = False,
    wait_seconds: int | None = None,
    overwrite: bool = False,
) -> int:
    """Plan the way back to an earlier deployment, and with ``yes`` go it. Exits as plan does.

    to: its number in ``redial history``; by default the last whose files were others. overwrite:
    replace what was changed by hand.
    """
    model = load_named(config)
    allowed = Allowed(overwrite, wait_seconds=wait_seconds)
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        connect = connect_odbc(target.odbc)
        with looking(connect, model, wait_seconds) as connection:
            chosen, files = _way_back(connection, model, to)
            seen = survey(model, connection, files, overwrite=overwrite, wait_seconds=wait_seconds)
        print(f"back to deployment {chosen.number} of {chosen.when:%Y-%m-%d %H:%M:%S}")
        print(shown(seen.plan), end="")
        if seen.plan.status in (NOTHING, BLOCKED):
            return seen.plan.status
        if not yes:
            print("Next: the same command with --yes")
            return CHANGES
        return install(model, connect, files, seen, "rollback", allowed)


def _way_back(connection: Any, config: Config, to: int | None) -> tuple[Deployment, dict[str, str]]:
    """An earlier deployment and its files. Raises UserError."""
    try:
        return files_of(connection, config.schema_name, to)
    except NoWayBack as error:
        said, _, after = str(error).partition(" Next: ")
        raise UserError(f"rollback of {config.name}", said.rstrip("."), after) from error


@command
def baseline(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
    accept: bool = False,
) -> int:
    """Keep what is there: the files of what another tool has installed, and what surrounds it.

    accept: what is there besides the files, and what operators have switched off or denied, is known
    from then on; verify says so each time. 2 when there is something to accept and ``accept`` is not said.
    """
    model = load_named(config)
    config = model.name
    files = reviewed(config, model, from_folder)
    with open_server(server, database, must_be_named=True, config=model) as target:
        with looking(connect_odbc(target.odbc), model) as connection:
            done = deployments(connection, model.schema_name)
            content = content_of(files, model.schema_name)
            if not done or done[-1].content != content:
                there = f"files {done[-1].content[:SHORT]}" if done else "no deployment"
                raise UserError(
                    f"baseline of {config}",
                    f"{target.label} holds {there}, and these are {content[:SHORT]}",
                    "redial plan says what differs; --from names the folder it was installed from",
                )
            looks = look_over(model, connection, files)
            found = [one for each in looks for one in acceptable(each)]
            keep_baseline(connection, model, files, looks, accept)
        print(f"kept: the files of deployment {done[-1].number}, and what is around it now")
        for difference in found:
            print(f"{'accepted' if accept else 'not accepted'}: {difference}")
        if found and not accept:
            print("Next: undo these; or the same command with --accept")
            return CHANGES
        return NOTHING


@command
def repair(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
    wait_seconds: int = 60,
) -> None:
    """Put the history right: attempts cut off, kept files that cannot be read, a row that is lost."""
    model = load_named(config)
    config = model.name
    files = reviewed(config, model, from_folder)
    with (
        open_server(server, database, must_be_named=True, labelled=False, config=model) as target,
        looking(connect_odbc(target.odbc), model, wait_seconds) as connection,
    ):
        done = repair_history(connection, model, files, wait_seconds)
    for line in done or ["the history is in order: nothing to repair"]:
        print(line)

"""``redial history``, ``rollback``, ``baseline`` and ``repair``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

from redial.cli.accepted import accepted, append, entry_text, last_day, to_accept
from redial.cli.configs import load_named
from redial.cli.errors import UserError, command, waits
from redial.cli.installing import Allowed, install, reviewed, revision, surveyed
from redial.cli.older import Older, older
from redial.cli.plan import SHORT, short, shown
from redial.cli.server import open_server
from redial.config import Config
from redial.deploy import connect_odbc
from redial.deploy.accepting import accept as accepting
from redial.deploy.apply import exclusive, looking, recorded
from redial.deploy.baseline import forget_accepted, given, keep_baseline, old_keys
from redial.deploy.fingerprint.lookers import rights_to_look
from redial.deploy.fingerprint.model import REMOVED
from redial.deploy.fingerprint.queries import SENDS
from redial.deploy.history import (
    DONE,
    Attempt,
    Deployment,
    NoWayBack,
    Story,
    attempts,
    content_of,
    deployments,
    files_of,
)
from redial.deploy.mending import repair_history, tried
from redial.deploy.plan import BLOCKED, CHANGES, NOTHING
from redial.deploy.verify import ANEW, GONE, Look, home_of, look_over


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
            seen = tried(connection, model)
        label = target.label
    known = seen or []
    if attempt is not None:
        known, done = [one for one in known if one.number == attempt], []
        if seen is None:
            raise UserError(f"--attempt {attempt}", HIDDEN, _may_see(model))
        if not known:
            raise UserError(f"--attempt {attempt}", "was never made here", "redial history")
    if form == "json":
        said: dict[str, Any] = {"deployed": [asdict(one) for one in done], "tried": None}
        if seen is not None:
            said["tried"] = [asdict(one) for one in known]
        print(json.dumps(said, default=str, indent=1, ensure_ascii=False))
        return
    print(f"history: configuration {config}, {label}")
    if seen is not None and not done and not known:
        print("nothing was ever deployed here")
    for title, lines in (("deployed", map(_deployed, done)), ("tried", map(_tried, known))):
        shown_lines = [f"  {line}" for line in lines]
        if shown_lines:
            print("\n".join(["", f"{title}:", *shown_lines]))
    if seen is None:
        print(f"\n{HIDDEN}. Next: {_may_see(model)}")
    if attempt is not None:
        if known[0].outcome == DONE and known[0].message:
            print(f"\n{known[0].message}")
        print(f"\nplan:\n{known[0].changes or 'no changes were planned'}")


HIDDEN = "what was tried is hidden from this login"


def _may_see(config: Config) -> str:
    rights = rights_to_look(config.schema_name, "this login's user")
    return f"let a member of db_owner look, or give the rights: {rights}"


def _deployed(one: Deployment) -> str:
    back = {True: "", False: "; files not kept", None: "; whether files are kept is hidden"}[
        one.kept
    ]
    when = f"{one.when:%Y-%m-%d %H:%M:%S}"
    if one.version == REMOVED:
        return f"{one.number:>4}  {when}  {REMOVED} by {one.by}"
    return f"{one.number:>4}  {when}  {one.content[:SHORT]}  {one.version} by {one.by}{back}"


def _tried(one: Attempt) -> str:
    took = f" in {(one.ended - one.started).total_seconds():.1f} s" if one.ended else ""
    change = f"{short(one.before)} -> {short(one.after)}"
    source = f", source {one.revision}" if one.revision else ""
    where = f" from {one.host}" if one.host else ""
    why = f": {one.message}" if one.message and one.outcome != DONE else ""
    return (
        f"{one.number:>4}  {one.started:%Y-%m-%d %H:%M:%S}  {one.what} {one.outcome}{took}  {change}  "
        f"by {one.by}{where}, redial {one.version}{source}{why}"
    )


BACK = (
    "what goes back: the texts of procedures, functions and views, their rights, the choices. What stays: "
    "tables, their columns and their rows"
)
"""Said before a way back and behind it."""
OWN_OPTIONS = (
    "where a line here says redial deploy --overwrite or --undo, it is this command with that option, redial "
    "rollback: redial deploy would go forward"
)
"""Said behind the plan of a way back that names one of them."""
_OF_DEPLOY = re.compile(r"redial deploy --(overwrite|undo)\b")


@command
def rollback(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    to: int | None = None,
    from_source: str | None = None,
    yes: bool = False,
    wait_seconds: int | None = None,
    overwrite: bool = False,
    undo: bool = False,
) -> int:
    """Plan the way back to an earlier deployment, and with ``yes`` go it. Exits as plan does.

    to: its number in ``redial history``; by default the last whose files were others. from_source: a
    folder or a commit whose files are taken instead. overwrite, undo: as deploy has them.
    """
    waits(wait_seconds)
    model = load_named(config)
    config = model.name
    allowed = Allowed(overwrite, wait_seconds=wait_seconds, accepted=accepted(), undo=undo)
    if to is not None and from_source is not None:
        raise UserError(f"--to {to} --from {from_source}", "are two ways", "say one of them")
    goal = older(config, model, from_source) if from_source is not None else None
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        connect = connect_odbc(target.odbc)
        with looking(connect, model, wait_seconds) as connection:
            goal = goal or _way_back(connection, model, to)
            seen = surveyed(goal.config, connection, goal.files, allowed)
        if not any(one.installed or one.unseen for one in seen.looks):
            raise UserError(
                f"rollback of {config}",
                f"nothing of it is in {' and '.join(seen.plan.databases)}",
                "name the database it is in; redial deploy --from installs the files of a folder",
            )
        print(f"back to {goal.what}\n{BACK}")
        planned = shown(seen.plan)
        print(planned, end="")
        if _OF_DEPLOY.search(planned):
            print(OWN_OPTIONS)
        if seen.plan.status in (NOTHING, BLOCKED):
            return seen.plan.status
        if not yes:
            print("Next: the same command with --yes")
            return CHANGES
        status = install(goal.config, connect, goal.files, seen, "rollback", allowed, goal.revision)
        print(f"gone back to {goal.what}\n{BACK}")
        return status


def _way_back(connection: Any, config: Config, to: int | None) -> Older:
    """An earlier deployment and its files. Raises UserError."""
    try:
        chosen, files = files_of(connection, config.schema_name, to)
    except NoWayBack as error:
        said, _, after = str(error).partition(" Next: ")
        raise UserError(f"rollback of {config.name}", said.rstrip("."), after) from error
    made = [
        one.revision
        for one in attempts(connection, config.schema_name) or ()
        if one.after == chosen.content and one.outcome == DONE and one.what in SENDS
    ]
    what = f"deployment {chosen.number} of {chosen.when:%Y-%m-%d %H:%M:%S}"
    return Older(config, files, what, made[-1] if made else None)


@command
def baseline(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
    accept: bool = False,
    reason: str = "",
    until: str = "",
    finding: Iterable[str] = (),
    wait_seconds: int = 60,
) -> int:
    """Keep what is there: the files of what another tool has installed, and what surrounds it.

    accept: write what is there besides, with the reason, into sql/accepted.toml instead: all but what
    surrounds it, or only what ``finding`` names. until: last day of it. wait_seconds: for a deployment that
    runs. 2 when something is not accepted.
    """
    waits(wait_seconds)
    model = load_named(config)
    config = model.name
    files, stays = reviewed(config, model, from_folder), accepted()
    last = _asked(accept, reason, until, finding)
    with (
        open_server(server, database, must_be_named=True, config=model) as target,
        looking(connect_odbc(target.odbc), model) as connection,
        exclusive(connection, model, wait_seconds * 1000),
    ):
        number = _number(connection, model, files, target.label)
        looks = accepting(look_over(model, connection, files), config, stays)
        told = Story("baseline", content_of(files, model.schema_name), revision())
        if not accept:
            for line in given(looks):
                print(line)
            with recorded(connection, model, told):
                keep_baseline(connection, model, files, looks)
            print(f"kept: the files of deployment {number}, and what is around it now")
            return _left(config, looks)
        chosen = to_accept(looks, finding)
        where = append([entry_text(config, *each, reason, last) for each in chosen])
        for _, difference in chosen:
            print(f"accepted in {where}: {difference}")
        if not chosen:
            print("nothing more to accept: no file was written")
        looks = accepting(look_over(model, connection, files), config, accepted())
        if old_keys(looks) != home_of(looks).known:
            with recorded(connection, model, told):
                forget_accepted(connection, model, files, looks)
            print("taken out of the database: what an earlier version has accepted there")
        return _left(config, looks)


def _asked(accept: bool, reason: str, until: str, finding: Iterable[str]) -> date | None:
    """The last day of what is accepted. Raises UserError for options that do not fit."""
    if accept and not reason.strip():
        raise UserError(
            "baseline --accept",
            "--reason is missing: what is accepted lies in sql/accepted.toml with the reason",
            "the same command with --reason 'why it stays', and --until 2027-01-31 where it is to end",
        )
    for name, said in (("reason", reason), ("until", until), ("finding", list(finding))):
        if said and not accept:
            raise UserError(f"baseline --{name}", "goes with --accept only", "add --accept")
    return last_day(until, "--until") if until else None


def _number(connection: Any, config: Config, files: dict[str, str], label: str) -> int:
    """Of the last deployment. Raises UserError when it was of other files."""
    done = deployments(connection, config.schema_name)
    content = content_of(files, config.schema_name)
    if done and done[-1].version == REMOVED:
        raise UserError(f"baseline of {config.name}", GONE, ANEW)
    if not done or done[-1].content != content:
        there = f"files {done[-1].content[:SHORT]}" if done else "no deployment"
        raise UserError(
            f"baseline of {config.name}",
            f"{label} holds {there}, and these are {content[:SHORT]}",
            "redial plan says what differs; --from names the folder it was installed from",
        )
    return done[-1].number


def _left(config: str, looks: list[Look]) -> int:
    """Say what could be accepted and is not; the exit status."""
    left = [(one, each) for one, each in to_accept(looks, ())]
    for _, each in left:
        print(f"not accepted: {each}")
    if not left:
        return NOTHING
    print(
        "Next: undo these; or redial baseline --accept --reason '...' writes this into sql/accepted.toml:"
    )
    for one, each in left:
        print(f"\n{entry_text(config, one, each)}", end="")
    return CHANGES


@command
def repair(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    from_folder: str | None = None,
    wait_seconds: int = 60,
) -> None:
    """Put the history right: attempts cut off, kept files that cannot be read, the last row."""
    waits(wait_seconds)
    model = load_named(config)
    config = model.name
    files, stays = reviewed(config, model, from_folder), accepted()
    with (
        open_server(server, database, must_be_named=True, labelled=False, config=model) as target,
        looking(connect_odbc(target.odbc), model, wait_seconds) as connection,
    ):
        done = repair_history(connection, model, files, wait_seconds, revision(), stays)
    for line in done or ["the history is in order: nothing to repair"]:
        print(line)

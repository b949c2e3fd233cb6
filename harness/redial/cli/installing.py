"""What ``deploy`` and ``rollback`` share: the reviewed files, and what is done with them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redial.cli.adopting import RECORD, adopted
from redial.cli.errors import UserError
from redial.config import Config
from redial.config.objects import object_names
from redial.deploy import Connect, Plan, Survey, apply, survey
from redial.deploy.accepting import NOTHING_ACCEPTED, Accepted, accept
from redial.deploy.apply import Heard, installation, telling
from redial.deploy.fingerprint.repair import ways_of
from redial.deploy.finishing import finish, losing, undo, undoing, unmoved
from redial.deploy.history import Story, content_of
from redial.deploy.live import SHOWN, how_many
from redial.deploy.loss import left_over
from redial.deploy.skipping import unchanged
from redial.deploy.verify import Look, findings
from redial.project import project
from redial.render import LineEnds, check, read

REVISION = "REDIAL_REVISION"
"""Environment variable: which revision of the source is deployed; else git is asked."""

KEEP_LF = (
    "redial render writes them anew. Git leaves them alone where .gitattributes has the line "
    "sql/generated/** -text, as redial init writes it. Of --from: take that folder from its source again"
)
"""What mends changed line ends, and keeps them from coming back."""


@dataclass(frozen=True)
class Allowed:
    """What somebody has said may be done, and how long it may take."""

    overwrite: bool = False
    """Whether what was changed by hand is replaced."""
    losses: Mapping[str, int] = field(default_factory=dict)
    """Tables that may be dropped, with the rows they have."""
    wait_seconds: int | None = None
    accepted: Accepted = NOTHING_ACCEPTED
    """Differences that stay."""
    undo: bool = False
    """Whether that goes which somebody has chosen, or added to what is ours."""

    @property
    def ways(self) -> tuple[str, ...]:
        """Of mending by a statement."""
        return ways_of(self.overwrite, self.undo)


def reviewed(
    name: str, config: Config, from_folder: str | None, *, as_rendered: bool = False
) -> dict[str, str]:
    """The files somebody has looked at: sql/generated/NAME, or a folder a CI has kept.

    as_rendered: without what was adopted. Raises UserError when they are not there, were changed, or
    are not what is rendered today.
    """
    folder = Path(from_folder) if from_folder else project().generated / name
    what = f"--from {folder}" if from_folder else f"sql/generated/{name}"
    if not folder.is_dir():
        raise UserError(what, "is not there", "redial render; look at what it writes, and keep it")
    files = read_folder(folder, what, config, "redial render; look at what it writes again")
    if not from_folder and (stale := check(config, folder)):
        lines = [line.partition(";")[0] for line in stale]
        more = f", and {len(lines) - SHOWN} files more" if len(lines) > SHOWN else ""
        raise UserError(
            what,
            f"is not what the configuration and the templates say: {', '.join(lines[:SHOWN])}{more}",
            "redial render; look at the difference, and keep it",
        )
    return files if as_rendered else adopted(name, files)


def read_folder(folder: Path, what: str, config: Config, next_step: str) -> dict[str, str]:
    """The files of a rendered folder that is there.

    what: how it is called. Raises UserError when they were changed, or are of another configuration.
    """
    try:
        files = read(folder)
    except LineEnds as error:
        raise UserError(what, str(error).replace(f"{folder} ", "it "), KEEP_LF) from error
    except ValueError as error:
        raise UserError(what, str(error).replace(f"{folder} ", "it "), next_step) from error
    if RECORD not in files:
        raise UserError(
            what,
            f"has no file with the part {RECORD}, or another version of Redial wrote it",
            next_step,
        )
    if f"VALUES (N'{config.name}'," not in files[RECORD]:
        raise UserError(
            what,
            f"holds the files of another configuration than {config.name}",
            "name the right folder",
        )
    return files


def surveyed(config: Config, connection: Any, files: Mapping[str, str], allowed: Allowed) -> Survey:
    """What was seen, and what a deployment that may do so much would do. Raises the driver's errors."""
    return survey(
        config,
        connection,
        files,
        overwrite=allowed.overwrite,
        undo=allowed.undo,
        wait_seconds=allowed.wait_seconds,
        losses=allowed.losses,
        accepted=allowed.accepted,
    )


def install(
    config: Config,
    connect: Connect,
    files: dict[str, str],
    seen: Survey,
    what: str,
    allowed: Allowed,
    source: str | None = None,
) -> int:
    """Send the files, undo what was changed by hand, look; 1 when something is found.

    what: deploy or rollback. source: revision the files are of; None: this folder's. Raises DeployError,
    UserError.
    """
    looks: list[Look] = []

    def opening(connection: Any, hear: Heard) -> None:
        unmoved(connection, config, files, seen.plan)
        undo(connection, config, seen.looks, allowed.ways, _say, hear)

    def then(connection: Any, hear: Heard) -> None:
        undo(connection, config, seen.looks, allowed.ways, _say, hear, late=True)
        found = finish(connection, config, files, seen.looks, allowed.losses, _say, hear)
        looks.extend(accept(found, config.name, allowed.accepted))

    report = apply(
        config,
        connect,
        progress,
        files=files,
        wait_seconds=allowed.wait_seconds,
        story=story(what, seen.plan, files, source),
        words=seen.words,
        skip=unchanged(config, seen.looks, files, seen.plan),
        opening=opening,
        then=then,
        heard=heard,
    )
    print(f"{len(report.files)} files, {report.batches} batches")
    return told(looks)


def tables_are_there(looks: Iterable[Look], losses: Mapping[str, int]) -> None:
    """Raises UserError for a table that no deployment has left over.

    One of ours that is not there at all has gone already: the same command goes on where it stopped.
    """
    seen = list(looks)
    known = {name for one in seen for name in left_over(one)}
    there = {thing.object_name for one in seen for thing in one.found}
    for table in losses:
        if table in object_names() - there:
            print(f"table {table} is not there: nothing of it is dropped")
        elif table not in known:
            raise UserError(
                f"--allow-loss {table}",
                "is no table of an earlier choice here; nothing was done",
                f"use one of: {', '.join(sorted(known))}" if known else "leave it out",
            )


def story(what: str, plan: Plan, files: dict[str, str], source: str | None = None) -> Story:
    """What is written down of an attempt."""
    changes = "\n".join(f"{action.do} {action.what} [{action.why}]" for action in plan.actions)
    return Story(what, content_of(files, plan.schema), source or revision(), changes or None)


def revision() -> str | None:
    """The source's revision: what the environment says, else git of the project folder."""
    if said := os.environ.get(REVISION):
        return said[:100]
    try:
        done = subprocess.run(
            ["git", "-C", str(project().root), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()[:100] or None


def told(looks: Iterable[Look]) -> int:
    """Print what verification found; the exit status."""
    seen = list(looks)
    found = findings(seen)
    for line in found:
        print(line)
    for line in (line for one in seen for line in one.notes()):
        print(f"note: {line}")
    if found:
        return 1
    if stays := sum(len(one.accepted) for one in seen):
        print(f"verified, but for {how_many(stays, 'accepted difference')} (above)")
    else:
        print("verified: everything is there, as the files make it, and switched on")
    return 0


def script(config: Config, seen: Survey, files: Mapping[str, str], allowed: Allowed) -> str:
    """The T-SQL that a deployment would send, in order; the files' own order where nothing is left out."""
    skip = set(unchanged(config, seen.looks, files, seen.plan))
    parts = [f"{text}\nGO\n" for text in telling(seen.words)]
    before, behind = (
        [
            f"/* repair in {where} */\n{sql}\nGO\n"
            for where, sql in undoing(seen.looks, allowed.ways, late)
        ]
        for late in (False, True)
    )
    sent = [f"/* {name} */\n{files[name]}" for name in installation(files) if name not in skip]
    parts += [*before, *sent, *behind]
    parts += [
        f"/* loss in {where} */\n{sql}\nGO\n" for where, sql in losing(seen.looks, allowed.losses)
    ]
    return "".join(parts)


def _say(text: str) -> None:
    print(f"  {text}")


def progress(name: str, number: int, total: int) -> None:
    """One line per file: what is being sent is named before it can fail."""
    print(f"  {number:>2}/{total} {name}", flush=True)


def heard(text: str) -> None:
    """What the server says meanwhile, as it says it."""
    print(f"  server: {text}", flush=True)

"""Both ends of a deployment: statements that no file has first; then what is there is looked at and kept."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from redial.config import Config
from redial.deploy.actions import repairs
from redial.deploy.apply import LOCK_TIMEOUT, Heard, run_batch, use
from redial.deploy.errors import NO_FILE, DeployError
from redial.deploy.fingerprint import merged, surroundings, written
from redial.deploy.fingerprint.surroundings import UNREADABLE
from redial.deploy.history import content_of, know
from redial.deploy.loss import dropping
from redial.deploy.plan import Plan, fingerprint
from redial.deploy.verify import Look, home_of, look_over

Say = Callable[[str], None]


def undoing(
    looks: Iterable[Look], ways: Container[str], late: bool = False
) -> list[tuple[str, str]]:
    """Database and statement of each repair.

    ways: of mending that are gone (``ways_of``). late: those behind the files.
    """
    return [(one.database, sql) for one in looks for sql in repairs(one, ways, late)]


def losing(looks: Iterable[Look], losses: Mapping[str, int]) -> list[tuple[str, str]]:
    """Database and statement of each drop that was allowed."""
    return [(one.database, sql) for one in looks for sql in dropping(one, losses)]


def unmoved(connection: Any, config: Config, files: Mapping[str, str], plan: Plan) -> None:
    """Look again, now that nobody else deploys: a plan is for what it has seen. Raises DeployError."""
    now = look_over(config, connection, files)
    if fingerprint([one.found for one in now]) != plan.fingerprint:
        raise DeployError(
            NO_FILE,
            1,
            None,
            "somebody has changed the installation since this plan was made. Nothing was done. Next: the "
            "same command again, which plans anew",
        )


def undo(
    connection: Any,
    config: Config,
    seen: Iterable[Look],
    ways: Container[str],
    say: Say,
    heard: Heard,
    *,
    late: bool = False,
) -> None:
    """Undo what was changed by hand and no file undoes, before the files: an owner's change takes
    grants away, which the files then give again. late: behind them, where a queue is switched on.

    seen: what the plan was made of; what has come since is nobody's order, and the last look names it.
    ways: of mending that are gone. say: told each statement before it runs, and why one did not: rows with
    equal keys must not keep a missing procedure away. Verification names what is left. heard: told what the
    server says.
    """
    looks = list(seen)
    todo = undoing(looks, ways, late)
    _run_all(connection, config, home_of(looks).database, todo, say, heard, stop=False)


def finish(
    connection: Any,
    config: Config,
    files: Mapping[str, str],
    before: Iterable[Look],
    losses: Mapping[str, int],
    say: Say,
    heard: Heard,
) -> list[Look]:
    """Drop what may be lost, and look again.

    before: what was seen before the deployment. losses: rows of the tables that may be dropped. say:
    told each statement before it runs. heard: told what the server says. Raises DeployError.
    """
    looks = look_over(config, connection, files)
    todo = losing(looks, losses)
    _run_all(connection, config, home_of(looks).database, todo, say, heard)
    if todo:
        looks = look_over(config, connection, files)
    return keep_known(connection, config, files, looks, list(before))


def _run_all(
    connection: Any,
    config: Config,
    home: str,
    todo: list[tuple[str, str]],
    say: Say,
    heard: Heard,
    *,
    stop: bool = True,
) -> None:
    """Statements, each in its database; back at home behind them.

    stop: at the first that fails, and raise DeployError.
    """
    for database, sql in todo:
        say(f"repairing in {database}: {_shown(sql)}")
        try:
            _run(connection, database if config.target.database else None, sql, heard)
        except DeployError as error:
            if stop or error.number in (None, LOCK_TIMEOUT):
                raise
            say(f"not repaired, and the deployment goes on: Msg {error.number}: {error.text}")
    if todo and config.target.database:
        use(connection, home)


def keep_known(
    connection: Any,
    config: Config,
    files: Mapping[str, str],
    looks: list[Look],
    before: list[Look],
) -> list[Look]:
    """Keep what is around the installation, where nothing was kept before. Raises DeployError.

    What was kept and cannot be read stays so until a baseline: what is there now is not taken for given.
    """
    content = content_of(files, config.schema_name)
    if any(one.unread for one in before):
        know(connection, config.schema_name, content, UNREADABLE)
        return [replace(one, kept=None, unread=True) for one in looks]
    kept = [one.kept for one in before] or [None] * len(looks)
    catalogs = [
        surroundings(one.found) if was is None else merged(was, one.found)
        for one, was in zip(looks, kept, strict=True)
    ]
    accepted = home_of(before).known if before else frozenset()
    know(connection, config.schema_name, content, written(catalogs, accepted))
    return [replace(one, kept=own) for one, own in zip(looks, catalogs, strict=True)]


def _shown(sql: str) -> str:
    """A statement in one line."""
    return " ".join(sql.split())


def _run(connection: Any, database: str | None, sql: str, heard: Heard) -> None:
    """One statement, in another database where one is named. Raises DeployError that shows it."""
    if database is not None:
        use(connection, database)
    run_batch(connection, f"repair {_shown(sql)}", 1, sql, heard)

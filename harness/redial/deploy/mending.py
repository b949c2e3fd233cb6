"""The history as it is, and put right: ``redial repair``. What is installed is not touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redial.config import Config
from redial.deploy.accepting import NOTHING_ACCEPTED, Accepted, accept
from redial.deploy.apply import exclusive, nobody_deploys, recorded
from redial.deploy.errors import NO_FILE, DeployError
from redial.deploy.handwork import LAST
from redial.deploy.history import (
    ABANDONED,
    AT_WORK,
    Attempt,
    Story,
    at_work,
    attempts,
    content_of,
    drop_texts,
    lost_rows,
    remember,
    unreadable,
)
from redial.deploy.verify import UNINSTALLED, look_over, removed


def tried(connection: Any, config: Config) -> list[Attempt] | None:
    """What was tried, the oldest first; one that says no end while nobody has the lock is abandoned.

    None: it is hidden from this login. Raises DeployError.
    """
    found = attempts(connection, config.schema_name)
    running = {one.number for one in found or () if one.outcome == AT_WORK}
    if not running or not nobody_deploys(connection, config):
        return found
    # who has let go of the lock has said how it ended before
    return [
        replace(one, outcome=ABANDONED) if one.number in running and one.outcome == AT_WORK else one
        for one in attempts(connection, config.schema_name) or ()
    ]


def repair_history(
    connection: Any,
    config: Config,
    files: Mapping[str, str],
    wait_seconds: int,
    revision: str | None = None,
    accepted: Accepted = NOTHING_ACCEPTED,
) -> list[str]:
    """Do what there is to do; a line for each. Raises DeployError, also while somebody deploys.

    wait_seconds: how long to wait for a deployment that runs. revision: of the source. accepted:
    differences that stay.
    """
    schema = config.schema_name
    done: list[str] = []
    with exclusive(connection, config, wait_seconds * 1000):
        looks = accept(look_over(config, connection, files), config.name, accepted)
        if unseen := [line for one in looks if one.unseen for line in one.others]:
            raise DeployError(NO_FILE, 1, None, unseen[0])
        if not any(one.installed for one in looks):
            raise DeployError(NO_FILE, 1, None, f"nothing of {config.name!r} is in this database")
        cut_off, broken = at_work(connection, schema), unreadable(connection, schema)
        differ = [each for one in looks for each in one.differences]
        lost = any(each.thing == LAST for each in differ)
        others = [each for each in differ if each.thing != LAST]
        if cut_off:
            done.append(f"attempts that were cut off, now called abandoned: {cut_off}")
        done += [
            f"kept files {content[:8]} could not be read: dropped, no way back to them"
            for content in broken
        ]
        if lost and not others:
            done.append("the last row of DeploymentHistory: written anew, for it is what is there")
        if done:
            content = content_of(files, schema)
            with recorded(connection, config, Story("repair", content, revision, "\n".join(done))):
                # What was cut off is called abandoned when this attempt is written down.
                for each in broken:
                    drop_texts(connection, schema, each)
                if lost and not others:
                    remember(connection, schema, config.name, content)
        done += [_gone(*one) for one in lost_rows(connection, schema)]
        if removed(looks):
            done.append(UNINSTALLED)
        elif lost and others:
            done.append(
                f"the last row of DeploymentHistory is missing or another one, and {others[0]}: "
                "so it cannot be said what was deployed. Next: redial deploy"
            )
    return done


def _gone(attempt: int, content: str) -> str:
    """What is said of a deployment before the last that has lost its row."""
    return (
        f"the row of an earlier deployment, of files {content[:8]}, is missing in DeploymentHistory and not "
        "written again: it would be the last one, and nobody goes back to it by a number. Next: redial "
        f"history --attempt {attempt} says what it was; redial rollback --from a folder or commit goes back "
        "to its files"
    )

"""The history put right: ``redial repair``. What is installed is not touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redial.config import Config
from redial.deploy.apply import exclusive
from redial.deploy.errors import DeployError
from redial.deploy.handwork import LAST
from redial.deploy.history import (
    abandon,
    content_of,
    drop_texts,
    remember,
    unreadable,
)
from redial.deploy.verify import look_over


def repair_history(
    connection: Any, config: Config, files: Mapping[str, str], wait_seconds: int
) -> list[str]:
    """Do what there is to do; a line for each. Raises DeployError, also while somebody deploys.

    wait_seconds: how long to wait for a deployment that runs.
    """
    schema = config.schema_name
    done: list[str] = []
    with exclusive(connection, config, wait_seconds * 1000):
        looks = look_over(config, connection, files)
        if unseen := [line for one in looks if one.unseen for line in one.others]:
            raise DeployError("history", 1, None, unseen[0])
        if not any(one.installed for one in looks):
            raise DeployError("history", 1, None, f"nothing of {config.name!r} is in this database")
        if cut_off := abandon(connection, schema):
            done.append(f"attempts that were cut off, now called abandoned: {cut_off}")
        for content in unreadable(connection, schema):
            drop_texts(connection, schema, content)
            done.append(f"kept files {content[:8]} could not be read: dropped, no way back to them")
        differ = [each for one in looks for each in one.differences]
        if any(each.thing == LAST for each in differ):
            others = [each for each in differ if each.thing != LAST]
            if others:
                done.append(
                    f"the last row of DeploymentHistory is missing or another one, and {others[0]}: "
                    "so it cannot be said what was deployed. Next: redial deploy"
                )
            else:
                remember(connection, schema, config.name, content_of(files, schema))
                done.append(
                    "the last row of DeploymentHistory: written anew, for it is what is there"
                )
    return done

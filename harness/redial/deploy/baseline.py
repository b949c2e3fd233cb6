"""What is there is taken as known: ``redial baseline``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redial.config import Config
from redial.deploy.fingerprint import surroundings, written
from redial.deploy.history import content_of, keep, know
from redial.deploy.verify import Look


def old_keys(looks: list[Look]) -> set[str]:
    """Of what the database accepts, what is still so and in no file: ``Difference.key``."""
    return {
        each.key(place)
        for place, one in enumerate(looks)
        for each in one.accepted
        if each not in one.reasons
    }


def keep_baseline(
    connection: Any, config: Config, files: Mapping[str, str], looks: list[Look]
) -> None:
    """Keep files and surroundings. Raises DeployError."""
    keep(connection, config.schema_name, files)
    text = written([surroundings(one.found) for one in looks], old_keys(looks))
    know(connection, config.schema_name, content_of(files, config.schema_name), text)


def forget_accepted(
    connection: Any, config: Config, files: Mapping[str, str], looks: list[Look]
) -> None:
    """Take out of the database what it accepts and a file does by now. Raises DeployError."""
    kept = [one.kept if one.kept is not None else surroundings(one.found) for one in looks]
    text = written(kept, old_keys(looks))
    know(connection, config.schema_name, content_of(files, config.schema_name), text)

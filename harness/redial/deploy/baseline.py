"""What is there is taken as known: ``redial baseline``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redial.config import Config
from redial.deploy.fingerprint import Difference, surroundings, written
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING
from redial.deploy.fingerprint.repair import ALLOWED, way
from redial.deploy.history import content_of, keep, know
from redial.deploy.verify import Look, home_of


def acceptable(one: Look) -> list[Difference]:
    """Differences that somebody may want: what no file makes, and what operators have decided.

    Nothing that is missing, and nothing that is of ours and otherwise than its file.
    """
    return [
        difference
        for difference in one.differences
        if (difference.how == EXCESS and difference.thing.kind not in ("deployment", "migration"))
        or (difference.how == CHANGED and way(difference, one.schema) == ALLOWED)
    ]


def keep_baseline(
    connection: Any, config: Config, files: Mapping[str, str], looks: list[Look], accept: bool
) -> None:
    """Keep files and surroundings; with ``accept`` the differences that may be. Raises DeployError."""
    assert MISSING not in {one.how for each in looks for one in acceptable(each)}
    keys = set(home_of(looks).known)
    if accept:
        keys |= {one.key(place) for place, each in enumerate(looks) for one in acceptable(each)}
    keep(connection, config.schema_name, files)
    text = written([surroundings(one.found) for one in looks], keys)
    know(connection, config.schema_name, content_of(files, config.schema_name), text)

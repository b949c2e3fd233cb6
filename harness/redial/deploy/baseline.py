"""What is there is taken as known: ``redial baseline``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redial.config import Config
from redial.deploy.fingerprint import Catalog, Thing, gives_power, moved, surroundings, written
from redial.deploy.fingerprint.model import MADE
from redial.deploy.history import content_of, keep, know
from redial.deploy.verify import Look
from redial.quoting import visible


def old_keys(looks: list[Look]) -> set[str]:
    """Of what the database accepts, what is still so and in no file: ``Difference.key``."""
    return {
        each.key(place)
        for place, one in enumerate(looks)
        for each in one.accepted
        if each not in one.reasons
    }


GIVEN, WITH_POWER = "taken for given", "taken for given, and it gives somebody power over this"


def given(looks: list[Look]) -> list[str]:
    """What a baseline keeps of what surrounds an installation, a line each.

    First what gives somebody power, whether it was kept before or not; then all that is otherwise than it
    was kept, or where nothing was kept all there is.
    """
    said = [(not power, one.database, line) for one in looks for power, line in _given(one)]
    return [
        f"in {database}: {GIVEN if no_power else WITH_POWER}: {line}"
        for no_power, database, line in sorted(said)
    ]


def _given(one: Look) -> list[tuple[bool, str]]:
    """Of one database; each with whether it gives power."""
    now: Catalog = {
        thing: own for thing, own in surroundings(one.found).items() if thing.kind != MADE
    }
    since = [] if one.kept is None else moved(one.kept, one.found)
    said = [
        ("owner" in (each.what, each.thing.name) or _power(each.thing, now), str(each))
        for each in since
    ]
    told = {each.thing for each in since}
    for thing, own in now.items():
        if thing not in told and (one.kept is None or _power(thing, now)):
            values = ", ".join(f"{what} is {value or 'nothing'}" for what, value in own.items())
            said.append((_power(thing, now), visible(f"{thing}: {values}")))
    return said


def _power(thing: Thing, now: Catalog) -> bool:
    return thing in now and gives_power(thing, now[thing])


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

"""Modules that somebody has changed by hand, told from those of another version.

A module's text is neither what the files make nor what the last deployment, or one that was tried since,
has made of it: those files are kept in the database (``history``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redial.config import Config
from redial.deploy.apply import installation
from redial.deploy.fingerprint import Difference, Thing, wanted
from redial.deploy.fingerprint.compare import CHANGED
from redial.deploy.fingerprint.model import HIDDEN
from redial.deploy.fingerprint.repair import REPLACED, way
from redial.deploy.history import content_of, kept_files
from redial.deploy.live import SHOWN
from redial.deploy.verify import Look, files_of_side, home_of
from redial.render import sides

LAST = Thing("deployment", "last")
MAY_GO = "redial.replaced"
"""Names a deployment may replace though they have lost our comment (05_preflight)."""


@dataclass(frozen=True)
class Handwork:
    """What was found."""

    modules: frozenset[tuple[str, str]] = frozenset()
    """Database and name of each."""
    unknown: frozenset[tuple[str, str]] = frozenset()
    """Of these it cannot be told: the files they were made from were not kept, or cannot be read."""
    unwritten: frozenset[tuple[str, str]] = frozenset()
    """Of these neither: they have lost our comment, and DeploymentHistory its rows."""

    @property
    def replaceable(self) -> frozenset[tuple[str, str]]:
        """What --overwrite replaces."""
        return self.modules | self.unknown | self.unwritten

    def changed(self, database: str, difference: Difference) -> bool:
        """Whether a difference is one of them."""
        return is_text(difference) and (database, difference.thing.name) in self.modules

    def refusals(self) -> list[str]:
        """Why a deployment is refused that does not say --overwrite."""
        lines = [
            f"module {name} in {database} was changed by hand since the last deployment, and a "
            f"deployment would undo it. Next: redial adopt --module {name} keeps the change, "
            "redial deploy --overwrite replaces it"
            for database, name in sorted(self.modules)
        ]
        if self.unknown:
            names = sorted(name for _, name in self.unknown)
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            lines.append(
                f"whether somebody has changed {', '.join(names[:SHOWN])}{more} cannot be told: the "
                "files of the last deployment were not kept. Next: redial baseline --from the folder "
                "it was installed from; or redial deploy --overwrite, which replaces them"
            )
        lines += [
            f"module {name} in {database} has lost our comment, and no deployment is written down to compare "
            "it with. Next: look at its text; redial deploy --overwrite replaces it"
            for database, name in sorted(self.unwritten)
        ]
        return lines


def words_of(replaced: Iterable[tuple[str, str]], looks: Iterable[Look]) -> dict[str, str]:
    """What a deployment that replaces modules tells the files' check (SESSION_CONTEXT).

    replaced: database and name of each.
    """
    return {
        MAY_GO if one.home else f"{MAY_GO}.target": f",{','.join(names)},"
        for one in looks
        if (names := sorted(name for place, name in replaced if place == one.database))
    }


def is_text(difference: Difference) -> bool:
    """Whether a module has another text."""
    return (
        difference.thing.kind == "module"
        and difference.how == CHANGED
        and difference.what == "text"
        and difference.found != HIDDEN
    )


def handwork(connection: Any, config: Config, looks: list[Look], files: dict[str, str]) -> Handwork:
    """Look for it. One round trip where a module differs, none else. Raises DeployError."""
    places = list(zip(looks, sides(config), strict=True))
    differ = [
        (one.database, here, difference)
        for one, here in places
        for difference in one.differences
        if is_text(difference)
    ]
    last = home_of(looks).found.get(LAST, {}).get("content")
    if not differ:
        return Handwork()
    if last is None:  # an installation that stopped goes on, but for what may be somebody's
        ours = {one.database for one in looks if any(thing.kind == "mark" for thing in one.found)}
        return Handwork(
            unwritten=frozenset(
                (database, one.thing.name)
                for database, _, one in differ
                if way(one) == REPLACED and database in ours
            )
        )
    kept = kept_files(connection, config.schema_name, last)
    if last == content_of(files, config.schema_name):
        kept[last] = files
    if last not in kept:
        return Handwork(
            unknown=frozenset((database, one.thing.name) for database, _, one in differ)
        )
    texts = {
        (here.folder, thing): {own["text"] for own in versions}
        for here in sides(config)
        for thing, versions in _modules(kept.values(), config, here).items()
    }
    return Handwork(
        frozenset(
            (database, one.thing.name)
            for database, here, one in differ
            if one.found not in texts.get((here.folder, one.thing), set())
        )
    )


def _modules(
    versions: Iterable[dict[str, str]], config: Config, here: Any
) -> dict[Thing, list[dict[str, str]]]:
    """Each module of one database as each version makes it."""
    found: dict[Thing, list[dict[str, str]]] = {}
    for files in versions:
        own = files_of_side(files, here)
        made = wanted({name: own[name] for name in installation(own)}, config.schema_name)
        for thing, properties in made.items():
            if thing.kind == "module":
                found.setdefault(thing, []).append(properties)
    return found

"""What no file says and messages depend on all the same: options, rights and triggers of the database.

They belong to the database's owner and were there before us, so no file can want them one way or the
other. What a deployment found is kept; what is otherwise later is named, until ``redial baseline`` keeps
it anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from redial.deploy.fingerprint.compare import SINCE, Difference, made
from redial.deploy.fingerprint.lookers import looking_rights
from redial.deploy.fingerprint.model import (
    DATABASE_NOTIFICATION,
    DATABASE_PERMISSION,
    DATABASE_TRIGGER,
    GRANTED,
    MADE,
    ON,
    OPTION,
    PASSED_ON,
    POWER,
    ROUTE_OF_ALL,
    SURROUNDING,
    Catalog,
    Properties,
    Thing,
)

OPTIONS_QUESTION = "options"
"""The question whose columns are options."""
PROPERTIES = frozenset({("role", "owner"), ("user", "default schema"), ("schema", "owner")})
"""Of things that files make, what depends on who made them. A schema that a deployment made is no such
thing: its owner is the module user."""


def option_name(column: str) -> str:
    """is_trustworthy_on: trustworthy."""
    return re.sub(r"^is_|_on$|_desc$", "", column).replace("_", " ")


_SWITCHES = frozenset(
    {
        "trustworthy",
        "db chaining",
        "honor broker priority",
        "read committed snapshot",
        "ansi null default",
    }
    | {"ansi nulls", "ansi padding", "ansi warnings", "arithabort", "concat null yields null"}
    | {"numeric roundabort", "quoted identifier", "recursive triggers", "cursor close on commit"}
)
"""Options whose name is that of ALTER DATABASE SET."""


def settable(option: str, value: str) -> str | None:
    """What stands behind ALTER DATABASE SET for an option; None where a person must know more."""
    on = value == ON
    if option in _SWITCHES:
        return f"{option.replace(' ', '_').upper()} {value.upper()}"
    return {
        "snapshot isolation state": f"ALLOW_SNAPSHOT_ISOLATION {value}",
        "local cursor default": f"CURSOR_DEFAULT {'LOCAL' if on else 'GLOBAL'}",
        "parameterization forced": f"PARAMETERIZATION {'FORCED' if on else 'SIMPLE'}",
        "memory optimized elevate to snapshot": f"MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = {value.upper()}",
        "compatibility level": f"COMPATIBILITY_LEVEL = {value}",
    }.get(option)


def surroundings(found: Catalog) -> Catalog:
    """That part of what was found."""
    every = {
        thing: {what: value for what, value in own.items() if _surrounds(thing, what)}
        for thing, own in found.items()
        if thing.kind != "schema" or made(thing, found) is None
    }
    return {thing: own for thing, own in every.items() if own or thing.kind in SURROUNDING}


def _surrounds(thing: Thing, what: str) -> bool:
    """Whether a property is of the surroundings; of a right its state is, the rest is in its name."""
    if thing.kind == DATABASE_PERMISSION:
        return what == "state"
    return thing.kind in SURROUNDING or (thing.kind, what) in PROPERTIES


def moved(kept: Catalog, found: Catalog) -> list[Difference]:
    """What is otherwise than it was kept."""
    now = surroundings(found)
    differences = [
        Difference(thing, SINCE, what, own.get(what, ""), now.get(thing, {}).get(what, ""))
        for thing, own in kept.items()
        for what in own
        if thing in now and now[thing].get(what) != own[what]
    ]
    differences += [Difference(thing, SINCE, "", "there", "gone") for thing in kept.keys() - now]
    # A role or user that a later configuration names is no change of the surroundings.
    may_look = looking_rights(found)
    came = [
        thing for thing in now.keys() - kept if thing.kind in SURROUNDING and thing not in may_look
    ]
    differences += [Difference(thing, SINCE, "", "", "there", has=found[thing]) for thing in came]
    return sorted(differences, key=lambda one: (one.thing, one.what))


def merged(kept: Catalog, found: Catalog) -> Catalog:
    """What a deployment keeps: as it was kept, but for what it has made or taken away itself.

    A change that somebody else has made goes on being named, until a baseline keeps it.
    """
    now = surroundings(found)
    ours = {thing for thing in kept.keys() | now.keys() if _by_deployments(thing)}
    stays = {thing: own for thing, own in kept.items() if thing not in ours or thing in now}
    return stays | {thing: now[thing] for thing in ours if thing in now and thing not in kept}


def gives_power(thing: Thing, own: Properties) -> bool:
    """Whether by it somebody may do more with what is ours, or with its messages, than our roles say."""
    if thing.kind == OPTION:
        return thing.name in ("trustworthy", "db chaining") and own.get("value") == ON
    if thing.kind == DATABASE_PERMISSION:
        return own.get("state") in (GRANTED, PASSED_ON)
    return thing.kind in (DATABASE_TRIGGER, DATABASE_NOTIFICATION, ROUTE_OF_ALL, POWER)


def _by_deployments(thing: Thing) -> bool:
    return thing.kind == MADE or thing.kind not in SURROUNDING


BEFORE = SURROUNDING - {POWER}
"""Kinds that were looked at before it was written down which."""


@dataclass(frozen=True)
class Known:
    """What a deployment, or a baseline, has kept."""

    surroundings: list[Catalog]
    """Of each database."""
    accepted: frozenset[str]
    """Keys of differences that are known and stay (``Difference.key``)."""
    kinds: frozenset[str] = BEFORE
    """What surroundings were looked at."""
    unread: bool = False
    """Something was kept, and it cannot be read."""

    def of(self, place: int, found: Catalog) -> Catalog | None:
        """What was kept of a database; None: nothing. Of kinds nobody had looked at what is there now."""
        if place >= len(self.surroundings):
            return None
        new = {
            thing: own
            for thing, own in surroundings(found).items()
            if thing.kind in SURROUNDING - self.kinds
        }
        return self.surroundings[place] | new


def written(catalogs: Iterable[Catalog], accepted: Iterable[str]) -> str:
    """As text: catalogs, the surroundings of each database, and what is accepted."""
    said = [[[*thing, own] for thing, own in sorted(one.items())] for one in catalogs]
    kept = {"surroundings": said, "accepted": sorted(accepted), "kinds": sorted(SURROUNDING)}
    return json.dumps(kept, ensure_ascii=False)


def read(text: str) -> Known:
    """What ``written`` has written; empty: nothing was kept."""
    if not text:
        return Known([], frozenset())
    try:
        said = json.loads(text)
        catalogs = [
            {Thing(*map(_text, thing)): _texts(own) for *thing, own in catalog}
            for catalog in said["surroundings"]
        ]
        accepted, kinds = (
            frozenset(map(_text, every)) for every in (said["accepted"], said.get("kinds", BEFORE))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Known([], frozenset(), unread=True)
    return Known(catalogs, accepted, kinds, unread=not catalogs)


UNREADABLE = "what was kept before cannot be read"
"""Kept instead, until a baseline comes: ``read`` cannot read it either."""


def _texts(own: dict[str, str]) -> Properties:
    return {_text(what): _text(value) for what, value in own.items()}


def _text(said: object) -> str:
    """Raises TypeError for anything else."""
    if not isinstance(said, str):
        raise TypeError(f"{said!r} is no text")
    return said

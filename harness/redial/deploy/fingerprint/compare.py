"""Every difference between what is wanted and what is found, each in a sentence."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from types import MappingProxyType

from redial.config.objects import object_names
from redial.deploy.fingerprint.lookers import looking_rights
from redial.deploy.fingerprint.model import (
    AS_WRITTEN,
    ELSEWHERE,
    GRANTED,
    GRANTEE,
    HIDDEN,
    MADE,
    MEMBER,
    OBJECTS,
    ON_NAME,
    ON_SCHEMA,
    SURROUNDING,
    Catalog,
    Properties,
    Thing,
    right,
    securable,
    written,
)
from redial.quoting import visible

MISSING, EXCESS, CHANGED = "missing", "in excess", "changed"
RENAMED = "renamed"
"""A table of ours has got another name, or is in another schema (``found``)."""
EXCHANGED = "exchanged"
"""Tables of ours have each other's names (``exchanges``)."""
SINCE = "since"
"""Otherwise than the last deployment found it (``surroundings``)."""
PLACE = "place"
"""Of a column: its place among the others."""
TEXT, DIGEST = "text ", 12
"""How a text is called in a finding, by the first characters of its digest."""
DIFF_LINES = 12
"""Of a module's text, in a finding."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as the files make it."""

    thing: Thing
    how: str
    """missing, in excess, changed, renamed, exchanged, since."""
    what: str = ""
    """The property that differs."""
    wanted: str = ""
    found: str = ""
    """wanted, found: its values; whole texts for a module."""
    wants: Properties = field(default_factory=dict, compare=False, repr=False)
    """All that the files say of the thing."""
    has: Properties = field(default_factory=dict, compare=False, repr=False)
    """All that is found of it; nothing where it is part of a table type, which cannot be altered."""
    written: tuple[str, str] | None = field(default=None, compare=False, repr=False)
    """wanted and found as they are written, of an expression."""
    others: tuple[Difference, ...] = field(default=(), compare=False, repr=False)
    """Those with whose names it is mixed up: only one statement mends all of them (``exchanges``)."""

    def __str__(self) -> str:
        """One line; a module's text has lines of its own behind it."""
        said = visible(self._said())
        return f"{said}\n{self.diff()}" if self._is_text else said

    @property
    def _is_text(self) -> bool:
        plain = self.how == CHANGED and self.what == "text"
        return plain and self.found != HIDDEN and not self.others

    def _said(self) -> str:
        if not self.others:
            return self._alone()
        mixed = "; ".join(map(str, self.others))
        return f"{self._alone()}; names are mixed up, and so: {mixed}"

    def _alone(self) -> str:
        """The sentence, without those it is mixed up with."""
        if self.how == MISSING:
            alike = self.has.get(SEVERAL, self.has.get(ALIKE))
            return f"{self.thing} is missing" + (f", and {alike} there is like it" if alike else "")
        if self.how == SINCE:
            return self._since()
        if self.how == RENAMED:
            missing = f", and {self.wanted} is missing" if self.wanted else ""
            where = "is in another schema" if self.found else "under another name"
            return f"{self.thing} was made by Redial, and {where}{missing}"
        if self.how == EXCHANGED:
            pairs = [f"{now} has the columns of {right}" for now, right in self.has.items()]
            return f"{self.thing.kind} {', and '.join(pairs)}: their names have been exchanged"
        if self.what == PLACE:
            stands = (
                f"{self.thing} stands in the place of {self.found}, and {self.found} in its place"
            )
            return f"{stands}: their names look exchanged"
        if self.how == EXCESS and self.thing.kind == "deployment":
            return f"a {self.thing}"
        if self.how == EXCESS:
            return f"{self.thing} is there, and no file of this configuration makes it{self._as()}"
        if self.found == HIDDEN:
            return f"{self.thing}: its text is encrypted, or hidden from this login"
        if self._is_text:
            return f"{self.thing} has another text than the file (- is there now, + in the file):"
        wanted, found = self.written or (self.wanted, self.found)
        return f"{self.thing}: {self.what} is {found or 'nothing'}, not {wanted or 'nothing'}"

    def key(self, place: int) -> str:
        """The same text for the same difference in the same database. place: of the database."""
        right = self.how == EXCESS and self.thing.kind == "permission"
        said = json.dumps([place, *self.thing, self.how, self.what, "" if right else self.found])
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def state(self) -> str:
        """Of what nobody of ours has made: deny, or grant with option; a text by its digest; else empty."""
        own = self.has if self.how in (EXCESS, SINCE) and not self.what else {}
        if GRANTEE in own:
            return "" if own["state"] == GRANTED else own["state"]
        text = own.get("text", "")
        return TEXT + hashlib.sha256(text.encode()).hexdigest()[:DIGEST] if text else ""

    def _as(self) -> str:
        """The state behind a sentence."""
        return f" ({self.state})" if self.state else ""

    def _since(self) -> str:
        if not self.what:
            came = "has come" if self.found == "there" else "is gone"
            return f"{self.thing} {came} since the last deployment{self._as()}"
        return (
            f"{self.thing}: {self.what} is {self.found or 'nothing'}, and was "
            f"{self.wanted or 'nothing'} at the last deployment"
        )

    def diff(self) -> str:
        """The lines that differ, of a module, old to new: - is on the server, + in the file."""
        lines = list(
            unified_diff(self.found.splitlines(), self.wanted.splitlines(), n=0, lineterm="")
        )[2:]
        if len(lines) > DIFF_LINES:
            lines = [*lines[:DIFF_LINES], f"({len(lines) - DIFF_LINES} lines more)"]
        return "\n".join(f"    {visible(line.expandtabs(4))}" for line in lines)


NOTHING_KEPT: Mapping[Thing, Properties] = MappingProxyType({})
"""No deployment has kept anything."""


def compare(
    wanted: Catalog, found: Catalog, kept: Mapping[Thing, Properties] = NOTHING_KEPT
) -> list[Difference]:
    """Differences in the order of the files, then what is in excess by name.

    kept: what the last deployment has kept around them. Of a thing that is missing, what belongs to it is
    not named too. What an earlier version of the configuration made and marked may stay (88_earlier keeps
    what still holds rows or dialogs).
    """
    wanted = _for_this_schema(wanted, found, kept)
    gone = {thing for thing in wanted if thing not in found}
    differences = [
        difference
        for thing, properties in wanted.items()
        if not any(thing.belongs_to(owner) for owner in gone)
        for difference in _of(thing, properties, found)
    ]
    may_look = looking_rights(found)
    extra = {
        thing
        for thing in found
        if thing not in wanted
        and thing not in may_look
        and thing.kind not in _ONLY_LOOKED_AT
        and not _kept(thing, wanted, found)
    }
    ours = _under_another_name(wanted, found, extra)
    in_place = {each.has[TAKEN] for each in differences if TAKEN in each.has}
    for each in differences:
        may_be = [one.thing.name for one in ours if each.thing.name in one.wanted.split(", ")]
        if may_be and each.how == MISSING and each.thing.kind == "table":
            each.has[NOW_CALLED] = ", ".join(may_be)
    excess = [
        Difference(
            thing,
            EXCESS,
            found=_in_excess(found[thing]),
            has=_alterable(thing, found)
            | ({IN_PLACE: "of ours"} if str(thing) in in_place else {}),
        )
        for thing in extra - {one.thing for one in ours} - _renamed(differences, extra, found)
        if str(thing) in in_place or not any(thing.belongs_to(owner) for owner in extra)
    ]
    return differences + sorted([*ours, *excess], key=lambda one: one.thing)


def _under_another_name(wanted: Catalog, found: Catalog, extra: set[Thing]) -> list[Difference]:
    """Tables of ours that have another name, are in another schema, or both.

    One that is in another schema under its own name is that one; any other may be each that is left.
    """
    missing = {thing.name for thing in wanted if thing.kind == "table" and thing not in found}
    moved = _elsewhere(wanted, found)
    lost = ", ".join(sorted(missing - {thing.name for thing in moved}))
    ours = [Difference(each, RENAMED, wanted=lost) for each in extra if is_renamed(each, found)]
    for thing in moved:
        own = thing.name if thing.name in missing else ""
        name = own if thing.name in object_names() else lost
        there = Thing("table", f"{thing.of}.{thing.name}")
        ours.append(Difference(there, RENAMED, wanted=name, found=thing.of))
    return sorted(ours, key=lambda one: one.thing)


def _elsewhere(wanted: Catalog, found: Catalog) -> list[Thing]:
    """Tables of this configuration in other schemas. One of an earlier choice may be anywhere."""
    marks = [own for thing, own in wanted.items() if thing[:2] == ("mark", "TABLE")]
    ours = [own.get("configuration") for own in marks]
    return [
        thing
        for thing, own in found.items()
        if thing.kind == ELSEWHERE
        and own["configuration"] in ours
        and (Thing("table", thing.name) in wanted or thing.name not in object_names())
    ]


def _renamed(differences: list[Difference], extra: set[Thing], found: Catalog) -> set[Thing]:
    """Columns and primary keys of which one is missing, and one more is there that is as it was.

    The missing one is told which it is; where several columns may be it, all of them.
    """
    missing = [one for one in differences if one.how == MISSING and _may_be_renamed(one)]
    like = {
        one.thing: [
            other
            for other in sorted(extra)
            if (other.kind, other.of) == (one.thing.kind, one.thing.of)
            and _alterable(other, found)
            and all(
                found[other].get(what, one.wants[what]) == one.wants[what]
                for what in _compared(one.wants)
            )
        ]
        for one in missing
    }
    claims = Counter(other for others in like.values() for other in others)
    pairs: set[Thing] = set()
    for one in missing:
        if not (others := like[one.thing]):
            continue
        one.has[ALIKE] = others[0].name
        if len(others) == 1 and claims[others[0]] == 1:
            pairs.add(others[0])
        else:
            one.has[SEVERAL] = " or ".join(other.name for other in others)
    return pairs


def _may_be_renamed(one: Difference) -> bool:
    """A table has one primary key; another index like ours is as likely somebody's."""
    return one.thing.kind == "column" or one.wants.get("role") == "primary key"


OURS = "ours"
"""Of a priority in excess: a deployment has written down that it made it."""
ALIKE, SEVERAL = "like it", "one of"
"""Of what is missing: the name of what is there and is the same, so it may be that; all such names where
there are more, or where two are missing."""
NOW_CALLED = "now called"
"""Of a table that is missing: tables of ours with other names, of which one may be it."""
TAKEN = "taken by"
"""Of what is missing: another object that has its name."""
STAYS = "stays"
"""With TAKEN, where no deployment touches that other object."""
IN_PLACE = "in the place"
"""Of what is in excess: it has the name of something of ours that is missing."""
WAS = "was"
"""Of an option of the database that is not as it must be: its value at the last deployment."""
_ONLY_LOOKED_AT = SURROUNDING | {"mark", "owned object", MEMBER, ELSEWHERE}
"""Kinds of which more may be there than the files make."""
_PARTS = frozenset({"column", "index", "check"})
MARKS = {
    "table": "TABLE",
    "queue": "QUEUE",
    "type": "TYPE",
    "service": "SERVICE",
    "contract": "CONTRACT",
    "message type": "MESSAGE TYPE",
}
"""What has a mark by which a deployment knows it, and how the mark calls its kind."""


def _of(thing: Thing, wanted: Properties, catalog: Catalog) -> list[Difference]:
    """The differences of one thing."""
    found = catalog.get(thing)
    if found is None:
        return [Difference(thing, MISSING, wants=wanted, has=dict(_taken(thing, wanted, catalog)))]
    has = _alterable(thing, catalog)
    differ = [
        what
        for what in _compared(wanted)
        if what in found
        and found[what] != wanted[what]
        and not (what == "text" and not wanted[what])
    ]
    if "default" in differ and "default's name" in differ:
        differ.remove("default's name")  # one constraint
    if thing.kind == "deployment":
        del differ[1:]  # other files: a row of its own
    return [
        Difference(
            thing,
            CHANGED,
            what,
            wanted[what],
            found[what],
            wanted,
            has,
            _written(what, wanted, found),
        )
        for what in differ
    ]


def _compared(wanted: Properties) -> list[str]:
    """The properties that are compared."""
    return [what for what in wanted if not what.endswith(AS_WRITTEN)]


def _written(what: str, wanted: Properties, found: Properties) -> tuple[str, str] | None:
    """Of an expression both sides as they are written."""
    name = written(what)
    if name not in wanted and name not in found:
        return None
    return wanted.get(name, ""), found.get(name, "")


def _alterable(thing: Thing, found: Catalog) -> Properties:
    """What is found of a thing that can be altered: a table type cannot."""
    if (
        thing.kind == "broker priority"
        and Thing("owned object", thing.name, "BROKER PRIORITY") in found
    ):
        return found[thing] | {OURS: "by OwnedObject"}
    of_a_type = thing.kind in _PARTS and Thing("type", thing.of) in found
    return {} if of_a_type else found.get(thing, {})


def _taken(thing: Thing, wanted: Properties, found: Catalog) -> Properties:
    """By which other object its name is taken: a schema has it once, for constraints too."""
    if not _named_in_the_schema(thing, wanted):
        return {}
    for other, own in found.items():
        if other == thing or other.object_name != thing.name:
            continue
        if _named_in_the_schema(other, own) and Thing("type", other.of) not in found:
            stays = other.kind in ("table", "queue") or (
                other.kind == "index" and other.of not in object_names()
            )
            return {TAKEN: str(other)} | ({STAYS: "by a person"} if stays else {})
    return {}


def _named_in_the_schema(thing: Thing, own: Properties) -> bool:
    """Whether no other object of the schema can have its name."""
    if thing.kind == "index":
        return own.get("role") in ("primary key", "unique constraint")
    constraint = thing.kind in ("check", "foreign key") and "." not in thing.of
    return thing.kind in OBJECTS or constraint


def _in_excess(own: Properties) -> str:
    """What else is to be known of it: a module's text, and of a right that it is no plain grant."""
    state = own.get("state", GRANTED)
    return own.get("text", "") or ("" if state == GRANTED else state)


def _kept(thing: Thing, wanted: Catalog, found: Catalog) -> bool:
    """Whether an earlier version of this configuration made it, or what it belongs to."""
    if thing.kind in _PARTS:
        owners = [Thing(kind, thing.of) for kind in ("table", "type")]
        return any(_kept(owner, wanted, found) for owner in owners if owner not in wanted)
    if thing.of and thing.kind in ("contract", "message type"):
        # A service's contract, a contract's message type: of an earlier version of the contract.
        name = thing.name if thing.kind == "contract" else thing.of
        return Thing("contract", name) not in wanted and Thing("mark", "CONTRACT", name) in found
    if thing.kind == "permission":
        own = found[thing]
        owners = [Thing(kind, own[ON_NAME]) for kind in ("table", "type")]
        left = any(_kept(owner, wanted, found) for owner in owners if owner not in wanted)
        return left and not own[ON_SCHEMA] and Thing("role", own[GRANTEE]) in wanted
    kind = MARKS.get(thing.kind)
    return (
        kind is not None
        and Thing("mark", kind, thing.name) in found
        and not is_renamed(thing, found)
    )


def made(schema: Thing, catalog: Mapping[Thing, Properties]) -> Properties | None:
    """The mark by which a deployment says that it made a schema."""
    return catalog.get(Thing(MADE, "SCHEMA", schema.name))


def is_renamed(thing: Thing, found: Catalog) -> bool:
    """Whether it is a table of ours that has got another name: with our mark, and none of our names."""
    marked = thing.kind == "table" and Thing("mark", "TABLE", thing.name) in found
    return marked and thing.name not in object_names()


def _for_this_schema(wanted: Catalog, found: Catalog, kept: Mapping[Thing, Properties]) -> Catalog:
    """A schema that was there before keeps its owner; wherever the module user does not own it, it is
    granted CONTROL. One that a deployment made has, or had, a mark of that: its owner is the module user.
    """
    schemas = [thing for thing in wanted if thing.kind == "schema"]
    for schema in schemas:
        owner = wanted[schema].get("owner", "")
        grant = Thing("permission", right("CONTROL", owner), securable("SCHEMA", schema.name))
        if grant not in wanted:
            continue
        if found.get(schema, {}).get("owner") in (None, owner):
            wanted = {thing: own for thing, own in wanted.items() if thing != grant}
        elif made(schema, found) is None and made(schema, kept) is None:
            wanted = wanted | {schema: {}}
    return wanted

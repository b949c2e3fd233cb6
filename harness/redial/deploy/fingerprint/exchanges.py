"""Names of ours that somebody has exchanged: of tables, of columns, of keys and defaults.

Each difference alone could not be mended: the name it needs is taken by the other. So they are told, and
mended, as one.
"""

from __future__ import annotations

from dataclasses import replace

from redial.deploy.fingerprint.compare import (
    ALIKE,
    CHANGED,
    EXCHANGED,
    MISSING,
    PLACE,
    SEVERAL,
    STAYS,
    TAKEN,
    Difference,
)
from redial.deploy.fingerprint.model import AS_WRITTEN, Catalog, Properties, Thing, written

_FEWEST_AGAIN = 3
"""So many columns must have been dropped and added again to give the same order: then it is an exchange."""


def with_exchanges(
    differences: list[Difference], files: Catalog, found: Catalog
) -> list[Difference]:
    """The differences, those of an exchange together."""
    return _mixed_names(_columns(_tables(differences, files, found), files, found))


def _tables(differences: list[Difference], files: Catalog, found: Catalog) -> list[Difference]:
    """Tables that have each other's columns, instead of everything that differs in them."""
    should, has = _shapes(files), _shapes(found)
    is_now = {}
    for table in should.keys() & has.keys():
        alike = [other for other, shape in should.items() if shape == has[table]]
        if should[table] != has[table] and len(alike) == 1:
            is_now[table] = alike[0]
    done: set[str] = set()
    told: list[Difference] = []
    for table in sorted(is_now):
        cycle = [table]
        while is_now.get(cycle[-1], table) != table and is_now[cycle[-1]] not in cycle:
            cycle.append(is_now[cycle[-1]])
        if table in done or is_now.get(cycle[-1]) != table:
            continue
        done |= set(cycle)
        own = {one: is_now[one] for one in cycle}
        told.append(Difference(Thing("table", table), EXCHANGED, has=own))
    owners = [Thing("table", one) for one in done]
    rest = [
        each
        for each in differences
        if each.thing not in owners and not any(each.thing.belongs_to(one) for one in owners)
    ]
    return told + rest


def _shapes(catalog: Catalog) -> dict[str, frozenset[tuple[str, str]]]:
    """Of each table the names and types of its columns."""
    shapes: dict[str, set[tuple[str, str]]] = {
        thing.name: set() for thing in catalog if thing.kind == "table"
    }
    for thing, own in catalog.items():
        if thing.kind == "column" and thing.of in shapes:
            shapes[thing.of].add((thing.name, own.get("type", "")))
    return {table: frozenset(shape) for table, shape in shapes.items() if shape}


def _columns(differences: list[Difference], files: Catalog, found: Catalog) -> list[Difference]:
    """Columns with each other's names: only their order, and what hangs on them, tells."""
    skip = {each.thing.name for each in differences if each.how == EXCHANGED}
    skip |= {name for each in differences if each.how == EXCHANGED for name in each.has}
    tables = [thing.name for thing in files if thing.kind == "table" and thing in found]
    for table in tables:
        pair = None if table in skip else _pair(table, files, found)
        if pair is None:
            continue
        one, other = pair
        gone = {Thing("column", name, table) for name in pair}
        gone |= {thing for thing in files if thing.of == table and _names(thing, files, pair)}
        at = min(
            (n for n, each in enumerate(differences) if each.thing in gone),
            default=len(differences),
        )
        thing = Thing("column", one, table)
        said = Difference(
            thing, CHANGED, PLACE, one, other, wants=files[thing], has=dict(found[thing])
        )
        differences = [
            *(each for each in differences[:at] if each.thing not in gone),
            said,
            *(each for each in differences[at:] if each.thing not in gone),
        ]
    return differences


def _pair(table: str, files: Catalog, found: Catalog) -> tuple[str, str] | None:
    """The two columns of a table that have each other's names; None where that is not sure.

    Not of a table that has lost or got a column since it was made: its order has moved.
    """
    should, has = _order(table, files), _order(table, found)
    if [number for number, _ in has] != list(range(1, len(should) + 1)):
        return None
    differ = [
        n for n, (mine, there) in enumerate(zip(should, has, strict=True)) if mine[1] != there[1]
    ]
    if len(differ) != 2 or len(should) - differ[0] - 1 < _FEWEST_AGAIN:
        return None
    one, other = (should[n][1] for n in differ)
    if has[differ[0]][1] != other or has[differ[1]][1] != one:
        return None
    for mine, there in ((one, other), (other, one)):
        wants, own = files[Thing("column", mine, table)], found[Thing("column", there, table)]
        if _compared(wants) != {what: own.get(what) for what in _compared(wants)}:
            return None
    kept = [thing for thing in files if thing.of == table and _names(thing, files, (one, other))]
    if any(not _exchanged(thing, files, found, one, other) for thing in kept):
        return None
    return one, other


def _order(table: str, catalog: Catalog) -> list[tuple[int, str]]:
    """Columns of a table with their places."""
    return sorted(
        (int(own[written(PLACE)]), thing.name)
        for thing, own in catalog.items()
        if thing.kind == "column" and thing.of == table and written(PLACE) in own
    )


def _compared(own: Properties) -> Properties:
    return {what: value for what, value in own.items() if not what.endswith(AS_WRITTEN)}


def _names(thing: Thing, files: Catalog, pair: tuple[str, str]) -> bool:
    """Whether an index names one of two columns."""
    if thing.kind != "index":
        return False
    words = " ".join(_lists(files[thing]).values()).split()
    return not set(pair).isdisjoint(words)


def _lists(own: Properties) -> Properties:
    """The columns of an index, with a comma standing alone."""
    return {what: own.get(what, "").replace(",", " ,") for what in ("columns", "included")}


def _exchanged(thing: Thing, files: Catalog, found: Catalog, one: str, other: str) -> bool:
    """Whether an index is as it should be, but for two columns that have each other's names."""
    turned = {one: other, other: one}
    has = _lists(found.get(thing, {}))
    for what, text in _lists(files[thing]).items():
        words = [turned.get(word, word) for word in text.split()]
        if sorted(words) != sorted(has[what].split()) or (
            what == "columns" and words != has[what].split()
        ):
            return False
    return True


def _mixed_names(differences: list[Difference]) -> list[Difference]:
    """Keys and defaults of which one has the name of the next: the first of them with the others."""
    by_name = {name: n for n, each in enumerate(differences) if (name := _frees(each))}
    group = list(range(len(differences)))
    for n, each in enumerate(differences):
        holder = by_name.get(_needs(each))
        if holder is not None and holder != n and group[holder] != group[n]:
            old, new = group[n], group[holder]
            group = [new if one == old else one for one in group]
    members: dict[int, list[Difference]] = {}
    for each, number in zip(differences, group, strict=True):
        members.setdefault(number, []).append(each)
    told = []
    for first, *others in members.values():
        if others:
            first = replace(_freed(first), others=tuple(map(_freed, others)))
        told.append(first)
    return told


def _freed(each: Difference) -> Difference:
    """Without saying that its name is taken: what has it is mended with it."""
    has = {what: value for what, value in each.has.items() if what not in (TAKEN, STAYS)}
    return replace(each, has=has)


def _needs(each: Difference) -> str:
    """The name of a constraint that mending it gives; empty: none."""
    if _is_key(each):
        return each.thing.name
    return each.wants.get("default's name", "") if _is_default(each) else ""


def _frees(each: Difference) -> str:
    """The name of a constraint that mending it takes away; empty: none."""
    if _is_key(each):
        return each.has[ALIKE]
    return each.has.get("default's name", "") if _is_default(each) else ""


def _is_key(each: Difference) -> bool:
    """Whether a key of ours has another name."""
    alike = ALIKE in each.has and SEVERAL not in each.has
    return each.how == MISSING and each.thing.kind == "index" and alike


def _is_default(each: Difference) -> bool:
    """Whether a column of a table has another default."""
    default = each.what in ("default", "default's name")
    return each.how == CHANGED and each.thing.kind == "column" and default and bool(each.has)

"""Statements that give names back: of one default, and of names that are mixed up."""

from __future__ import annotations

from redial.deploy.fingerprint.compare import ALIKE, Difference
from redial.deploy.fingerprint.model import Properties, written
from redial.quoting import literal, qualified, quote_name

BETWEEN = " (exchanged)"
"""Behind a name, while another has it."""


def named_back(is_now: Properties, schema: str, table: str) -> str:
    """Tables, or with one the columns of it, get their names back, through a third name.

    is_now: of what has each name, which one it is.
    """
    kind = "COLUMN" if table else "OBJECT"
    within = f"{qualified(schema, table)}." if table else f"{quote_name(schema)}."
    away = [
        _renamed(f"{within}{quote_name(now)}", right + BETWEEN, kind)
        for now, right in is_now.items()
    ]
    back = [
        _renamed(f"{within}{quote_name(right + BETWEEN)}", right, kind) for right in is_now.values()
    ]
    return together(" ".join(away), " ".join(back)) or ""


def all_at_once(difference: Difference, schema: str) -> str | None:
    """One with those it is mixed up with: first each lets its name go, then each gets its own."""
    every = (difference, *difference.others)
    halves = [_key(one, schema) if ALIKE in one.has else _default(one, schema) for one in every]
    drops = [drop for drop, _ in halves if drop]
    makes = [make for _, make in halves if make]
    return together(" ".join(drops), " ".join(makes))


def _key(difference: Difference, schema: str) -> tuple[str, str]:
    """A key, through a third name."""
    name, table = difference.thing.name, qualified(schema, difference.thing.of)
    between = name + BETWEEN
    return (
        _renamed(f"{table}.{quote_name(difference.has[ALIKE])}", between, "INDEX"),
        _renamed(f"{table}.{quote_name(between)}", name, "INDEX"),
    )


def _default(difference: Difference, schema: str) -> tuple[str | None, str | None]:
    return no_default(difference, schema), default_of(difference, schema)


def _renamed(old: str, new: str, kind: str) -> str:
    return f"EXECUTE sys.sp_rename {literal(old)}, {literal(new)}, {literal(kind)};"


def no_default(difference: Difference, schema: str) -> str | None:
    """DROP CONSTRAINT of the default that a column has."""
    there = difference.has["default's name"]
    table = qualified(schema, difference.thing.of)
    return f"ALTER TABLE {table} DROP CONSTRAINT {quote_name(there)};" if there else None


def default_of(difference: Difference, schema: str) -> str | None:
    """ADD CONSTRAINT of the default the files give a column."""
    thing, wants = difference.thing, difference.wants
    if not wants["default"]:
        return None
    named = wants["default's name"]
    constraint = f"CONSTRAINT {quote_name(named)} " if named else ""
    value = wants[written("default")]
    table = qualified(schema, thing.of)
    return f"ALTER TABLE {table} ADD {constraint}DEFAULT ({value}) FOR {quote_name(thing.name)};"


def together(drop: str | None, make: str | None) -> str | None:
    """Both or neither."""
    if not drop or not make:
        return drop or make
    return f"SET XACT_ABORT ON; BEGIN TRANSACTION; {drop} {make} COMMIT TRANSACTION;"

"""Rows that a deployment may drop, because somebody has said which and how many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redial.deploy.fingerprint import Thing
from redial.deploy.fingerprint.compare import MARKS, is_renamed
from redial.deploy.live import Live, how_many
from redial.deploy.verify import Look
from redial.quoting import literal, qualified

ROWS_DIFFER = 50143
"""More or fewer rows than were allowed to be lost (docs/errors.md)."""


def left_over(one: Look) -> list[str]:
    """Tables that a deployment made for another choice, under a name of ours."""
    return sorted(thing.name for thing in left_behind(one) if thing.kind == "table")


def left_behind(one: Look) -> set[Thing]:
    """What is ours, by its mark, and nothing that the files make."""
    ours = {
        Thing(kind, mark.of)
        for mark in one.found
        if mark.kind == "mark" and (kind := KINDS.get(mark.name))
    }
    return {each for each in ours - one.wanted.keys() if not is_renamed(each, one.found)}


KINDS = {mark: kind for kind, mark in MARKS.items()}
"""What 88_cleanup drops, by what marks call it."""


def parsed(said: Iterable[str]) -> dict[str, int]:
    """TABLE=ROWS, each. Raises ValueError that says which is none."""
    found: dict[str, int] = {}
    for one in said:
        table, equals, rows = one.rpartition("=")
        if not equals or not table or not rows.isdigit():
            raise ValueError(f"{one!r} is not TABLE=ROWS")
        found[table] = int(rows)
    return found


def to_lose(one: Look, at_work: Live, losses: Mapping[str, int]) -> list[str]:
    """Tables of earlier choices that still hold rows."""
    if not one.installed:
        return []
    rows = {name: at_work.rows.get(name, 0) for name in left_over(one)}
    return [
        f"table {name} with its {how_many(count, 'row')} is dropped (--allow-loss)"
        if name in losses
        else f"table {name} is of an earlier choice and has {how_many(count, 'row')}: it is kept. "
        f"--allow-loss {name}={count} drops it"
        for name, count in rows.items()
        if count
    ]


def other_rows(one: Look, at_work: Live, losses: Mapping[str, int]) -> list[str]:
    """Tables that may be dropped with another number of rows than they have."""
    return [
        f"table {name} has {how_many(rows, 'row')}, not {losses[name]}. Next: look at them; "
        f"--allow-loss {name}={rows}"
        for name in left_over(one)
        if name in losses and (rows := at_work.rows.get(name, 0)) != losses[name]
    ]


def dropping(one: Look, losses: Mapping[str, int]) -> list[str]:
    """Statements that drop a table with exactly so many rows; one with other rows fails."""
    return [_drop(one.schema, name, losses[name]) for name in left_over(one) if name in losses]


def _drop(schema: str, table: str, rows: int) -> str:
    own = qualified(schema, table)
    return (
        "SET XACT_ABORT ON; BEGIN TRANSACTION; DECLARE @property int; DECLARE @rows bigint = "
        f"(SELECT COUNT_BIG(*) FROM {own} WITH (TABLOCKX, HOLDLOCK)); "
        f"DECLARE @said nvarchar(400) = CONCAT(N'Table ', {literal(table)}, N' has ', @rows, "
        f"N' rows, not {rows}. Nothing of it was dropped. Next: redial plan, and say the number it names.'); "
        f"IF @rows <> {rows} THROW {ROWS_DIFFER}, @said, 1; "
        "EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA', "
        f"@level0name = {literal(schema)}, @level1type = N'TABLE', @level1name = {literal(table)}; "
        f"IF ISNULL(@property, 1) = 0 DROP TABLE {own}; COMMIT TRANSACTION;"
    )

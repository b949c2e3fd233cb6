"""A mark that cannot be set or taken away ends the script, and nothing is done without it."""

from __future__ import annotations

import re

import pytest

from redial_broker.catalog.procedures import properties
from redial_broker.engine.errors import SqlError
from tests.installed import rendered

from . import catalog
from .bare import Bare, installation, removal
from .lab import AUDIT

CALL = re.compile(
    r"EXECUTE (@property = )?sys\.sp_(?:add|drop)extendedproperty[^;]*;(.*?)THROW 50209", re.S
)


@pytest.mark.parametrize(
    "made",
    [
        "CREATE USER",
        "CREATE SCHEMA",
        "CREATE ROLE",
        "CREATE TABLE",
        "CREATE TYPE",
        "CREATE QUEUE",
        "CREATE MESSAGE TYPE",
        "CREATE CONTRACT",
        "CREATE SERVICE",
    ],
)
def test_an_object_whose_mark_fails_is_not_made(made, monkeypatch):
    """F-361: sp_addextendedproperty raises and returns 1, which no XACT_ABORT turns into an end."""
    bare = Bare()
    batches = installation(AUDIT)
    making = re.compile(rf"^ *(.*N')?{made} " + re.escape("["), re.M)
    place = next(n for n, sql in enumerate(batches) if making.search(sql))
    bare.run(batches[:place])
    before = bare.catalog()

    def refuse(call, verb):
        raise SqlError(15135, "mark")

    monkeypatch.setattr(properties, "_change", refuse)
    assert bare.attempt(batches[place]) == [15135, 50209]
    assert bare.rows("SELECT @@TRANCOUNT;") == [(0,)]
    assert catalog.difference(before, bare.catalog()) == []
    monkeypatch.undo()
    bare.run(batches[place:])


def test_an_object_whose_mark_cannot_be_taken_away_is_not_dropped(monkeypatch):
    bare = Bare.deployed(AUDIT)
    bare.run(removal(AUDIT, purge=False))
    tables = "SELECT name FROM sys.tables ORDER BY name;"
    before = bare.rows(tables)

    def refuse(call, verb):
        raise SqlError(15217, "Redial.made", "mark")

    monkeypatch.setattr(properties, "_change", refuse)
    assert bare.attempt(removal(AUDIT)[-1]) == [15217, 50209]
    assert bare.rows(tables) == before
    monkeypatch.undo()
    bare.run(removal(AUDIT))


def test_every_call_asks_for_the_return_code():
    for name, text in rendered(AUDIT).items():
        calls = text.count("sys.sp_addextendedproperty") + text.count("sys.sp_dropextendedproperty")
        found = CALL.findall(text)
        assert len(found) == calls, name
        assert all(
            code and "IF ISNULL(@property, 1) <> 0" in between and len(between) < 80
            for code, between in found
        ), name

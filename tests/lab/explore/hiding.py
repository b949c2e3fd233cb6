"""Places where a value can be hidden between two steps, and scenarios that hide one there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Scenario, World
from redial_lab.explore.prepared import made
from tests.lab.explore.tables import database

BASE = (
    "CREATE TABLE dbo.T (V int NOT NULL); INSERT dbo.T VALUES (1); "
    "CREATE TABLE dbo.Other (N int NOT NULL); INSERT dbo.Other VALUES (0); "
    "CREATE TABLE dbo.Log (V int NULL);"
)
CHANGE = "UPDATE dbo.T SET V = 2; UPDATE dbo.T SET V = 1;"
"""What the other session does: for a moment there is a 2."""

KEPT = "{} was kept"


@dataclass(frozen=True)
class Place:
    """One entry of hiding_places.toml, which says what its fields mean."""

    kind: str
    name: str
    setup: tuple[str, ...] = ()
    read: str = "DECLARE @v int = (SELECT V FROM dbo.T);"
    hide: str = ""
    text: str = ""
    """Of an object, made with the value in it."""
    cross: str = "UPDATE dbo.Other SET N = 1;"
    reveal: str = ""

    @property
    def batch(self) -> str:
        """The batch that hides the value and shows it."""
        return "\n".join((self.read, self.hide, self._made(), self.cross, self.reveal))

    def _made(self) -> str:
        if not self.text:
            return ""
        text = self.text.strip().replace("'", "''").replace("#V#", "' + @n + N'")
        return (
            "DECLARE @n nvarchar(10) = CAST(@v AS nvarchar(10)); "
            f"DECLARE @s nvarchar(max) = N'{text}'; EXECUTE (@s); SET @s = NULL; SET @n = NULL;"
        )

    def scenario(self) -> Scenario:
        """A session that hides what it reads, beside one that changes it and changes it back."""
        return Scenario(
            self.name,
            lambda: made(("hiding", self.setup), self._prepared),
            (Client("hides", (self.batch,), "d"), Client("changes", (CHANGE,), "d")),
            at_the_end=kept,
        )

    def _prepared(self) -> Instance:
        return database(BASE, *self.setup)


def kept(world: World) -> list[str]:
    """What was found where it had been hidden."""
    log = world.instance.server.database("d").resolve("dbo", "Log")
    return [KEPT.format(row[0]) for row in log.rows.entries.values()]


@cache
def places() -> tuple[Place, ...]:
    """All of them."""
    data = tomllib.loads(Path(__file__).with_name("hiding_places.toml").read_text("utf-8"))
    return tuple(Place(**{**one, "setup": tuple(one.get("setup", ()))}) for one in data["place"])

"""A server with a configuration in it, as ``redial doctor`` looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from redial.cli.errors import explained
from redial.cli.server import EMBEDDED, open_server, user_database
from redial.config import Config
from redial.deploy import connect_odbc
from redial.operate.doctor import CannotLook, Look, Place, Trouble, look
from redial.render.findings import Finding
from redial.render.renderer import register
from redial.render.sides import Side, sides
from redial.server import EMBEDDED_LABEL, address_of

Known = list[tuple[Side, tuple[Finding, ...]]]
"""What there is to look for in each database, the sender's first."""


def known_in(model: Config) -> Known:
    """What usp_Health looks for. Raises RenderError."""
    return [(here, tuple(register(model, here).findings)) for here in reversed(sides(model))]


@dataclass(frozen=True)
class Site:
    """A server with a configuration in one database, or in two."""

    model: Config
    text: str
    """What names the server: as ``open_server`` takes it."""
    database: str | None
    """The sender's, where it is said apart."""
    wait_seconds: int = 60

    def places(self) -> list[tuple[Place, str | None]]:
        """How each database is called, and its name where that is said apart; the sender's first."""
        said = [
            self.database if here.initiator else self.model.target.database
            for here in reversed(sides(self.model))
        ]
        return [(place_of(self.text, each), each) for each in said]

    def looked_at(self, known: Known) -> list[Look]:
        """What is seen in each database, or why nothing is."""
        each = zip(self.places(), known, strict=True)
        return [self._look(*place, findings) for place, (_, findings) in each]

    def _look(self, place: Place, database: str | None, known: tuple[Finding, ...]) -> Look:
        try:
            with self.connected(database) as connection:
                return look(connection, self.model, place, known, self.wait_seconds)
        except Exception as error:
            trouble = trouble_of(error, place)
            if trouble is None:
                raise
            return Look(place, known, trouble=trouble)

    @contextmanager
    def connected(self, database: str | None) -> Iterator[Any]:
        """A connection to one of its databases. Raises UserError, the driver's errors."""
        with (
            open_server(
                self.text, database, must_be_named=True, labelled=False, config=self.model
            ) as target,
            closing(connect_odbc(target.odbc)()) as connection,
        ):
            yield connection


def place_of(text: str, database: str | None) -> Place:
    """How a database is called. text: what names the server. Raises UserError."""
    if text == EMBEDDED:
        return Place(EMBEDDED_LABEL, database or "")
    odbc, name = user_database(text, database)
    return Place(address_of(odbc), name)


def trouble_of(error: Exception, place: Place) -> Trouble | None:
    """What an expected error says; None for another."""
    if isinstance(error, CannotLook):
        return error.trouble
    told = explained(error)
    if told is None:
        return None
    said, _, next = told.partition("\n  Next: ")
    return Trouble(str(place), said.partition("\n  Where: ")[0].removeprefix("server: "), next)

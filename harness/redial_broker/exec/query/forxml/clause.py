"""A FOR XML clause while it is compiled: what all its modes are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.query.rowset import Rowset

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.context import Context

    Serialize = Callable[[list[RowValues]], str]


@dataclass(slots=True)
class Clause:
    """A FOR XML clause being compiled."""

    node: ast.ForXml
    rowset: Rowset
    context: Context
    block: Any
    """The SELECT, None for a set operation."""
    prefixes: dict[str | None, str]
    """Declared by WITH XMLNAMESPACES."""
    top: str = ""
    """Attributes of every outermost element (namespace declarations), "" when they stand on the
    root."""

    @property
    def elements(self) -> bool:
        """Element-centric."""
        return self.node.elements is not None

    @property
    def nil(self) -> bool:
        """ELEMENTS XSINIL."""
        return self.node.elements == "XSINIL"

    def fail(self, number: int, *args: object) -> SqlError:
        """An error of the clause, with its line."""
        error: SqlError = self.context.fail(self.node, SqlError(number, *args, aborts="scope"))
        return error

"""XQuery as the xml methods understand it: text in, a closure over a node tree out.

``compile_xquery`` reads the whole text at once and raises every static error the server raises
while a statement compiles; running it raises nothing but what building new XML may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redial_broker.engine.errors import SqlError
from redial_broker.engine.meter import Meter
from redial_broker.exec.xml.xquery.parser import Parser
from redial_broker.exec.xml.xquery.static import BUILT_IN, WHOLE, Env, Expression, Static, Typing
from redial_broker.exec.xml.xquery.types import Type
from redial_broker.exec.xml.xquery.values import Item


@dataclass(slots=True)
class Query:
    """A compiled XQuery text."""

    expression: Expression
    """With its static type."""
    static: Static
    prolog: dict[str, str]
    """Prefix -> uri as written in the text and WITH XMLNAMESPACES."""
    outside: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Key -> (kind, name) of the SQL values it reads."""

    def run(
        self,
        item: Item,
        outside: Mapping[str, list[Item]] | None = None,
        meter: Meter | None = None,
    ) -> list[Item]:
        """The items, with ``item`` as the context."""
        return self.expression.run(Env(item, 1, 1, {}, outside or {}, meter or Meter()))


def new_static(
    label: str,
    namespaces: Mapping[str | None, str],
    focus: Type,
    resolve: Callable[[str, str], Type] | None = None,
    typing: Typing | None = None,
) -> Static:
    """A static context. namespaces: of WITH XMLNAMESPACES (None is DEFAULT)."""
    static = Static(label, dict(BUILT_IN), focus=focus, resolve=resolve, typing=typing)
    for prefix, uri in namespaces.items():
        static.written[prefix or ""] = uri
        if prefix:
            static.namespaces[prefix] = uri
        else:
            static.default = uri
    return static


def compile_xquery(
    text: str,
    namespaces: Mapping[str | None, str],
    label: str,
    focus: Type = WHOLE,
    resolve: Callable[[str, str], Type] | None = None,
    typing: Typing | None = None,
) -> Query:
    """Compile one XQuery text.

    label: what error texts show in brackets; focus: type of the context item; resolve(kind, name):
    type of sql:variable() or sql:column(). Raises the server's XQuery errors, NotSupported for the
    few functions that are refused.
    """
    if not text.strip():
        raise SqlError(6306, aborts="scope")
    static = new_static(label, namespaces, focus, resolve, typing)
    parser = Parser(text, static)
    parser.prolog()
    expression = parser.expression()
    parser.finished()
    return Query(expression, static, dict(static.written), static.outside)

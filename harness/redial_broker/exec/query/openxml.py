"""OPENXML in FROM: nodes of a prepared document as rows ("OPENXML (Transact-SQL)" page, F-225).

Patterns are XPath 1.0, as for the server's MSXML. The edge table and metaproperties are refused by
name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lxml import etree

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import INT, NVARCHAR_MAX, SqlType
from redial_broker.exec.conversion import explicit_conversion, resolve_type
from redial_broker.exec.conversion.declared import COLUMN
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.query.rowset import QueryColumn

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

    Field = Callable[[Any, int, dict[str, str]], Any]

_ATTRIBUTES, _ELEMENTS, _BOTH = 1, 2, 3
_MAPPINGS = frozenset({0, _ATTRIBUTES, _ELEMENTS, _BOTH})
Prepared = tuple[str, tuple[tuple[str, str], ...]]
"""The text of a prepared document, and the (prefix, uri) pairs its patterns may use."""


@lru_cache(maxsize=32)
def document(text: str) -> Any:
    """The parsed document; shared, so nobody may change it."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
    )
    tree = etree.fromstring(text.encode("utf-16"), parser).getroottree()
    for item in tree.iter():  # white space alone is no text (F-225)
        if item.text is not None and not item.text.strip():
            item.text = None
        if item.tail is not None and not item.tail.strip():
            item.tail = None
    return tree


def openxml(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[list[QueryColumn], Rows]:
    """(columns, rows) of OPENXML(@handle, pattern [, flags]) WITH (...)."""
    given = node.call.arguments
    if not 2 <= len(given) <= 3 or not isinstance(given[0], ast.Variable):
        raise context.fail(node, SqlError(102, "OPENXML", severity=15))
    if node.schema is None:
        raise context.not_supported(node, "OPENXML without WITH (the edge table)")
    handle, pattern = (compile_expression(part, scope) for part in given[:2])
    flags = converted(compile_expression(given[2], scope), INT).fn if len(given) == 3 else None
    number, way = converted(handle, INT).fn, converted(pattern, NVARCHAR_MAX).fn
    columns, fields = _schema(node.schema, scope, context)

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        tree, prefixes = _prepared(session, number(session, variables, row))
        mapping = (flags(session, variables, row) or 0) if flags is not None else 0
        if mapping not in _MAPPINGS:
            raise context.not_supported(node, f"OPENXML with flags {mapping}")
        found = _select(tree.getroot(), way(session, variables, row) or "", prefixes, absolute=tree)
        return [tuple([read(item, mapping, prefixes) for read in fields]) for item in found]

    return columns, rows


def _prepared(session: SessionState, handle: int | None) -> tuple[Any, dict[str, str]]:
    held: Prepared | None = session.xml_documents.get(handle)
    if held is None:
        raise SqlError(8179, handle or 0, state=5)
    return document(held[0]), dict(held[1])


def _select(item: Any, path: str, prefixes: dict[str, str], absolute: Any = None) -> list[Any]:
    """The nodes of a pattern. Raises 6603 for one that is no XPath."""
    try:
        found = (absolute if absolute is not None else item).xpath(
            path, namespaces=prefixes or None
        )
    except (etree.XPathError, ValueError) as error:
        raise SqlError(6603, f"{error}", state=2) from None
    return found if isinstance(found, list) else [str(found)]


def _schema(
    schema: list[ast.SchemaColumn], scope: Scope, context: Context
) -> tuple[list[QueryColumn], list[Field]]:
    columns, fields = [], []
    for item in schema:
        of = resolve_type(
            item.data_type, COLUMN, scope.user_type, scope.position(item.data_type), scope.xml_type
        )
        if item.path is not None and item.path.lstrip().startswith("@mp:"):
            raise context.not_supported(item, f"the metaproperty {item.path.strip()} of OPENXML")
        columns.append(QueryColumn(item.name, of))
        fields.append(_field(item, of))
    return columns, fields


def _field(column: ast.SchemaColumn, of: SqlType) -> Field:
    """One column: its own pattern, or an attribute or child element of its name."""
    convert, name, path = explicit_conversion(NVARCHAR_MAX, of), column.name, column.path
    markup = of.name == "xml"

    def read(item: Any, mapping: int, prefixes: dict[str, str]) -> Any:
        found = _found(item, name, path, mapping, prefixes)
        return None if found is None else convert(_text(found, markup))

    return read


def _found(item: Any, name: str, path: str | None, mapping: int, prefixes: dict[str, str]) -> Any:
    if not isinstance(item, etree._Element):
        # An attribute or a text as the row: itself, or a way that leads up from it.
        if path is None or path == ".":
            return item
        if not path.startswith("..") or not hasattr(item, "getparent"):
            return None
        above = item.getparent().getparent() if item.is_tail else item.getparent()
        rest = path[2:].lstrip("/")
        return next(iter(_select(above, rest, prefixes)), None) if rest else above
    if path is not None:
        return next(iter(_select(item, path, prefixes)), None)
    if mapping != _ELEMENTS and name in item.attrib:
        return item.get(name)
    if mapping in {_ELEMENTS, _BOTH}:
        return next((child for child in item if child.tag == name), None)
    return None


def _text(found: Any, markup: bool) -> str:
    if not isinstance(found, etree._Element):
        return str(found)
    if markup:
        text: str = etree.tostring(found, encoding="unicode", with_tail=False)
        return text
    return "".join(found.itertext())

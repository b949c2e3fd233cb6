"""FOR XML RAW, AUTO, PATH and EXPLICIT: the rows of a query as one XML value.

Source: "FOR XML" and the "Use ... mode" pages; what they leave open: F-222. XMLSCHEMA and XMLDATA
are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import NVARCHAR_MAX, XML
from redial_broker.exec.query.forxml.auto import auto
from redial_broker.exec.query.forxml.clause import Clause
from redial_broker.exec.query.forxml.explicit import explicit
from redial_broker.exec.query.forxml.naming import check
from redial_broker.exec.query.forxml.rows import path, raw
from redial_broker.exec.query.forxml.values import self_closed
from redial_broker.exec.query.rowset import QueryColumn, Rowset
from redial_broker.exec.xml.nodes import XSI_URI, escape_value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.expressions.scope import Scope
    from redial_broker.exec.query.blocks import Block
    from redial_broker.exec.query.forxml.clause import Serialize
    from redial_broker.exec.session import SessionState

TEXT_COLUMN = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
"""Name of the one column of a FOR XML result without TYPE."""


def for_xml(
    node: ast.ForXml, rowset: Rowset, context: Context, block: Block | None, scope: Scope
) -> Rowset:
    """The rowset of one row and one column that FOR XML makes of a query."""
    clause = Clause(node, rowset, context, block, dict(scope.namespaces))
    root = _options(clause)
    modes = {"RAW": raw, "PATH": path, "AUTO": auto, "EXPLICIT": explicit}
    serialize: Serialize = modes[node.mode](clause)
    rows_of, typed = rowset.rows, node.typed

    def count_and_text(
        session: SessionState, variables: Values, row: RowValues
    ) -> tuple[int, str | None]:
        found = rows_of(session, variables, row)
        if not found:
            # No rows, no XML: not even the root (F-222).
            return 0, None
        text = serialize(found)
        if root is not None:
            text = f"<{node.root}{root}>{text}</{node.root}>"
        return len(found), self_closed(text) if typed else text

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        _, text = count_and_text(session, variables, row)
        return [] if text is None and not typed else [(text,)]

    made = Rowset(
        [QueryColumn("" if typed else TEXT_COLUMN, XML if typed else NVARCHAR_MAX)],
        rows,
        rowset.correlated,
        rowset.paths,
    )
    if not typed:
        made.streamed = count_and_text
    return made


def _options(clause: Clause) -> str | None:
    """Check what all modes share; the root's attributes, None without ROOT."""
    node, known = clause.node, {prefix for prefix in clause.prefixes if prefix}
    if node.schema is not None or node.mode == "EXPLICIT":
        if clause.prefixes:
            raise clause.fail(6868)
        if node.schema is not None:
            if node.mode == "PATH":
                raise clause.fail(6855)
            raise clause.context.not_supported(node, f"FOR XML with {node.schema}")
    if node.element is not None and node.mode in {"AUTO", "EXPLICIT"}:
        raise clause.fail(6859)
    if clause.elements and node.mode == "EXPLICIT":
        raise clause.fail(6825)
    if clause.nil and "xsi" in known:
        raise clause.fail(6873)
    if node.element:
        _checked(clause, node.element, "Row", known)
    if node.root is not None:
        if not node.root:
            raise clause.fail(6861)
        _checked(clause, node.root, "ROOT", known)
    declarations = _declarations(clause)
    if node.root is not None:
        return declarations
    clause.top = declarations
    return None


def _checked(clause: Clause, name: str, what: str, known: set[str]) -> None:
    try:
        check(name, what, known)
    except SqlError as error:
        raise clause.context.fail(clause.node, error) from None


def _declarations(clause: Clause) -> str:
    """The xmlns attributes: xsi first, the others against the order they were written in."""
    parts = [f' xmlns:xsi="{XSI_URI}"'] if clause.nil else []
    for prefix, uri in reversed(clause.prefixes.items()):
        if prefix != "xml":
            name = f"xmlns:{prefix}" if prefix else "xmlns"
            parts.append(f' {name}="{escape_value(uri)}"')
    return "".join(parts)

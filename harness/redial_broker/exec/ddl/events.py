"""DDL events: what each statement that defines something is called, and in which groups it is.

Source: "DDL events" and "DDL event groups" pages, for the statements there are here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redial.tsql import ast
from redial_broker.engine.state import definition
from redial_broker.exec.registry import describe


def _family(*kinds: str) -> frozenset[str]:
    """CREATE, ALTER and DROP of some kinds."""
    return frozenset(f"{verb}_{kind}" for kind in kinds for verb in ("CREATE", "ALTER", "DROP"))


_TABLE_VIEW = _family("TABLE", "VIEW", "INDEX") | {
    "CREATE_STATISTICS",
    "UPDATE_STATISTICS",
    "DROP_STATISTICS",
}
_SSB = _family(
    "MESSAGE_TYPE",
    "CONTRACT",
    "QUEUE",
    "SERVICE",
    "ROUTE",
    "REMOTE_SERVICE_BINDING",
    "BROKER_PRIORITY",
)
_SECURITY = _family("USER", "ROLE") | {
    "GRANT_DATABASE",
    "DENY_DATABASE",
    "REVOKE_DATABASE",
    "ALTER_AUTHORIZATION_DATABASE",
    "ADD_ROLE_MEMBER",
    "DROP_ROLE_MEMBER",
}
GROUPS: dict[str, frozenset[str]] = {
    "DDL_TABLE_EVENTS": _family("TABLE"),
    "DDL_VIEW_EVENTS": _family("VIEW"),
    "DDL_INDEX_EVENTS": _family("INDEX"),
    "DDL_STATISTICS_EVENTS": frozenset(e for e in _TABLE_VIEW if "STATISTICS" in e),
    "DDL_TABLE_VIEW_EVENTS": _TABLE_VIEW,
    "DDL_PROCEDURE_EVENTS": _family("PROCEDURE"),
    "DDL_FUNCTION_EVENTS": _family("FUNCTION"),
    "DDL_TRIGGER_EVENTS": _family("TRIGGER"),
    "DDL_SCHEMA_EVENTS": _family("SCHEMA"),
    "DDL_SEQUENCE_EVENTS": _family("SEQUENCE"),
    "DDL_SYNONYM_EVENTS": _family("SYNONYM") - {"ALTER_SYNONYM"},
    "DDL_TYPE_EVENTS": _family("TYPE") - {"ALTER_TYPE"},
    "DDL_SSB_EVENTS": _SSB,
    "DDL_QUEUE_EVENTS": _family("QUEUE"),
    "DDL_SERVICE_EVENTS": _family("SERVICE"),
    "DDL_CONTRACT_EVENTS": _family("CONTRACT"),
    "DDL_ROUTE_EVENTS": _family("ROUTE"),
    "DDL_MESSAGE_TYPE_EVENTS": _family("MESSAGE_TYPE"),
    "DDL_REMOTE_SERVICE_BINDING_EVENTS": _family("REMOTE_SERVICE_BINDING"),
    "DDL_BROKER_PRIORITY_EVENTS": _family("BROKER_PRIORITY"),
    "DDL_USER_EVENTS": _family("USER"),
    "DDL_ROLE_EVENTS": _family("ROLE"),
    "DDL_GDR_DATABASE_EVENTS": frozenset(e for e in _SECURITY if e[:4] in {"GRAN", "DENY", "REVO"}),
    "DDL_DATABASE_SECURITY_EVENTS": _SECURITY,
}
ALL = frozenset().union(*GROUPS.values())
GROUPS["DDL_DATABASE_LEVEL_EVENTS"] = GROUPS["DDL_EVENTS"] = ALL

_MODULES = {
    ast.CreateProcedure: "PROCEDURE",
    ast.CreateView: "VIEW",
    ast.CreateTrigger: "TRIGGER",
    ast.CreateScalarFunction: "FUNCTION",
    ast.CreateInlineFunction: "FUNCTION",
    ast.CreateTableFunction: "FUNCTION",
}
_OTHERS: dict[type, str] = {
    ast.AlterTableAdd: "ALTER_TABLE",
    ast.AlterTableDrop: "ALTER_TABLE",
    ast.AlterTableAlterColumn: "ALTER_TABLE",
    ast.AlterTableConstraints: "ALTER_TABLE",
    ast.AlterTableSet: "ALTER_TABLE",
    ast.AlterTableTriggers: "ALTER_TABLE",
    ast.CreateTypeAlias: "CREATE_TYPE",
    ast.CreateTableType: "CREATE_TYPE",
    ast.AlterSchemaTransfer: "ALTER_SCHEMA",
}


@definition()
@dataclass(frozen=True, slots=True)
class DdlEvent:
    """One event."""

    event: str
    """Its name."""
    kind: str
    """Of the object."""
    schema: str
    name: str
    """schema, name: of the object, "" unknown."""


def events_of(node: Any) -> Iterator[DdlEvent]:
    """The events of a statement: one per object it names. Temporary objects have none."""
    if isinstance(node, ast.DropObject):
        for name in node.names:
            yield from _event(f"DROP_{node.kind.replace(' ', '_')}", name)
        return
    if isinstance(node, ast.DropIndex):
        for item in node.items:
            yield from _event("DROP_INDEX", item.table, item.name)
        return
    if isinstance(node, ast.Permission):
        yield from _event(f"{node.verb}_DATABASE", None)
        return
    kind = _MODULES.get(type(node))
    if kind is not None:
        verb = "ALTER" if node.verb == "ALTER" else "CREATE"
        yield from _event(f"{verb}_{kind}", node.name)
        return
    event = _OTHERS.get(type(node)) or describe(node).replace(" ", "_")
    if isinstance(node, (ast.CreateIndex, ast.AlterIndex)):
        yield from _event(event, node.table, node.name)
        return
    yield from _event(event, getattr(node, "name", None))


def _event(event: str, name: Any, inner: str | None = None) -> Iterator[DdlEvent]:
    if event not in ALL:
        return
    parts: tuple[str, ...] = (
        (name.text,)
        if isinstance(name, ast.Identifier)
        else (name,)
        if isinstance(name, str)
        else ()
        if name is None
        else name.parts
    )
    if parts and parts[-1].startswith("#"):
        return
    schema = parts[-2] if len(parts) > 1 else ""
    yield DdlEvent(
        event,
        event.split("_", 1)[1].replace("_", " "),
        schema,
        inner or (parts[-1] if parts else ""),
    )

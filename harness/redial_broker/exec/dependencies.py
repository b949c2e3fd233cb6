"""What refers to what: names in modules, constraints and synonyms, and who is bound to whom.

Sources: sys.sql_expression_dependencies page; SCHEMABINDING in the CREATE VIEW and CREATE FUNCTION
pages: what a schema-bound module refers to cannot be dropped or changed under it (3729).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.compiler import calls_function
from redial_broker.exec.objects import Constraint, Module

if TYPE_CHECKING:
    from redial_broker.engine.storage import Table
    from redial_broker.exec.database import Database

_TARGETS = (ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.OutputClause)


def names_in(node: ast.Node) -> list[ast.ObjectName]:
    """Names of objects a syntax tree refers to, each once, in order; #temp tables are left out."""
    local = {"inserted", "deleted"} if isinstance(node, ast.CreateTrigger) else set()
    for part in node.walk():
        if isinstance(part, ast.CommonTable):
            local.add(part.name.lower())
    found: dict[tuple[Any, ...], ast.ObjectName] = {}
    for name in _all_names(node):
        single = len(name.parts) == 1
        if name.name.startswith("#") or (single and name.name.lower() in local):
            continue
        found.setdefault(tuple(part.lower() for part in name.parts), name)
    return list(found.values())


def _all_names(node: Any) -> Iterator[ast.ObjectName]:
    for part in node.walk():
        if isinstance(part, ast.TableRef):
            yield part.name
        elif isinstance(part, ast.ExecuteProcedure):
            if isinstance(part.procedure, ast.ObjectName):
                yield part.procedure
        elif isinstance(part, ast.NextValueFor):
            yield part.sequence
        elif calls_function(part):
            yield part.name
        elif isinstance(part, _TARGETS):
            target = part.into if isinstance(part, ast.OutputClause) else part.target
            if isinstance(target, ast.ObjectName):
                yield target
        elif isinstance(part, ast.CreateTrigger):
            yield part.table
        else:
            queue = getattr(part, "queue", None)
            if isinstance(queue, ast.ObjectName):
                yield queue


def references_of(item: Any) -> list[ast.ObjectName]:
    """Names a module or constraint refers to."""
    if isinstance(item, Module):
        return names_in(item.node)
    return list(item.uses) if isinstance(item, Constraint) else []


def schema_bound(item: Any) -> bool:
    """Whether what an object refers to is protected: a constraint, or WITH SCHEMABINDING."""
    if isinstance(item, Constraint):
        return True
    return isinstance(item, Module) and any(
        option.name == "SCHEMABINDING" for option in getattr(item.node, "options", None) or ()
    )


def resolved(database: Database, name: ast.ObjectName, home: str = "dbo") -> Any:
    """The object of this database a name means, None for none; nobody is waited for.

    home: the schema of what refers to it.
    """
    if name.database is not None and name.database.lower() != database.name.lower():
        return None
    own = database.objects.get(((name.schema or home).lower(), name.name.lower()))
    return own or database.objects.get(((name.schema or "dbo").lower(), name.name.lower()))


def referrers(database: Database, item: Any, *, bound: bool = False) -> list[Any]:
    """Modules and constraints that refer to an object, by id. bound: only those that protect it."""
    found = [
        other
        for other in database.objects.values()
        if other is not item
        and (not bound or schema_bound(other))
        and any(resolved(database, name, other.schema) is item for name in references_of(other))
    ]
    return sorted(found, key=lambda other: other.object_id)


def refuse_bound(database: Database, item: Any, action: str, shown: str) -> None:
    """Raise SqlError 3729 when a schema-bound module or a constraint refers to the object."""
    found = referrers(database, item, bound=True)
    if found:
        raise SqlError(3729, action, shown, found[0].name)


def bound_to_column(table: Table, column: str) -> list[str]:
    """Names of schema-bound modules that mention a column of the table."""
    if table.database is None or table.temporary:
        return []
    database = cast("Database", table.database)
    current = resolved(database, ast.ObjectName(0, 0, (table.schema, table.name)))
    if current is None:
        return []
    return [
        other.name
        for other in referrers(database, current, bound=True)
        if isinstance(other, Module)
        and any(
            isinstance(part, ast.ColumnRef) and part.parts[-1].lower() == column.lower()
            for part in other.node.walk()
        )
    ]

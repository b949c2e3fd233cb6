"""Names of services, contracts and message types as columns: compared byte for byte (F-376)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.collation import Collation, find_collation
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.exec.context import Context

BINARY = find_collation("Latin1_General_BIN")


def name_collation(engine: Engine) -> Collation | None:
    """The collation of such a column; None for the database's."""
    return BINARY if value(engine, "broker_names") == "binary" else None


def named_columns(
    columns: list[Any], broker_names: frozenset[str], context: Context
) -> list[QueryColumn]:
    """The columns of a system view or a queue, some of which are such names."""
    binary = name_collation(context.session.engine) if broker_names else None
    return [
        QueryColumn(
            c.name, c.type, c.nullable, collation=binary if c.name in broker_names else None
        )
        for c in columns
    ]

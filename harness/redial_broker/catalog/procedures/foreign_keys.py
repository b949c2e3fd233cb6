"""sp_fkeys: FOREIGN KEYs for ODBC's SQLForeignKeys (its page)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.procedures.arguments import Call, procedure, result_columns
from redial_broker.catalog.procedures.patterns import qualified_database
from redial_broker.engine.errors import SqlError
from redial_broker.exec.objects import Constraint

if TYPE_CHECKING:
    from redial_broker.engine.storage import Table

FKEYS = result_columns("""
PKTABLE_QUALIFIER sysname?
PKTABLE_OWNER sysname?
PKTABLE_NAME sysname
PKCOLUMN_NAME sysname
FKTABLE_QUALIFIER sysname?
FKTABLE_OWNER sysname?
FKTABLE_NAME sysname
FKCOLUMN_NAME sysname
KEY_SEQ smallint
UPDATE_RULE smallint?
DELETE_RULE smallint?
FK_NAME sysname?
PK_NAME sysname?
DEFERRABILITY smallint?""")
RULES = {"CASCADE": 0, "NO ACTION": 1, "SET NULL": 2, "SET DEFAULT": 3}
NOT_DEFERRABLE = 7


@procedure(
    "sp_fkeys",
    pktable_name=None,
    pktable_owner=None,
    pktable_qualifier=None,
    fktable_name=None,
    fktable_owner=None,
    fktable_qualifier=None,
)
def sp_fkeys(call: Call) -> None:
    """One row per column, of keys that refer to one table, are on one table, or both.

    Raises SqlError 15252 without a table name.
    """
    parent, child = call.text("pktable_name"), call.text("fktable_name")
    if parent is None and child is None:
        raise SqlError(15252)
    qualifier = call.text("pktable_qualifier") or call.text("fktable_qualifier")
    database = qualified_database(call.session, qualifier)
    rows = []
    for item in seen_objects(call.session, database, Constraint):
        foreign = item.foreign
        if foreign is None:
            continue
        one = database.object_by_id(foreign.referenced_id)
        two = database.object_by_id(item.parent_id)
        if not (
            _is(one, parent, call.text("pktable_owner"))
            and _is(two, child, call.text("fktable_owner"))
        ):
            continue
        for number, (own, other) in enumerate(zip(foreign.columns, foreign.referenced), 1):
            rows.append(
                (
                    database.name,
                    one.schema,
                    one.name,
                    other,
                    database.name,
                    two.schema,
                    two.name,
                    own,
                    number,
                    RULES[foreign.on_update],
                    RULES[foreign.on_delete],
                    item.name,
                    foreign.index,
                    NOT_DEFERRABLE,
                )
            )
    order = (4, 5, 6, 8) if parent is not None else (0, 1, 2, 8)
    rows.sort(key=lambda row: [str(row[i]).lower() if i != 8 else row[i] for i in order])
    call.answer(FKEYS, rows)


def _is(table: Table, name: str | None, owner: str | None) -> bool:
    """Whether a table is the one named; None stands for every one."""
    return (name is None or table.name.lower() == name.lower()) and (
        owner is None or table.schema.lower() == owner.lower()
    )

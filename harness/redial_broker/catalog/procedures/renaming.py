"""sp_rename (its page)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.catalog.names import find_object, split_name
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.ddl.common import lock_definition
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.renaming import (
    enforced,
    moved,
    rename_column,
    rename_index,
    rename_object,
)
from redial_broker.exec.ddl.temporary import put_table
from redial_broker.exec.objects import Constraint
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

KINDS = frozenset({"COLUMN", "INDEX", "OBJECT", "STATISTICS", "USERDATATYPE", "DATABASE"})
CAUTION = "Caution: Changing any part of an object name could break scripts and stored procedures."


@procedure("sp_rename", objname=REQUIRED, newname=REQUIRED, objtype=None)
def sp_rename(call: Call) -> int:
    """A new name for a column, index or object; message 15477 when it is done."""
    session = call.session
    text, name = call.text("objname") or "", call.text("newname") or ""
    kind = (call.text("objtype") or "").upper() or None
    if kind is not None and kind not in KINDS:
        raise SqlError(15249, kind)
    if kind in {"USERDATATYPE", "DATABASE", "STATISTICS"}:
        raise NotSupported(f"sp_rename of a {kind.lower()}")
    if not name:
        raise SqlError(15223, "newname")
    check_length(name)
    parts = split_name(text) or []
    if kind in {"COLUMN", "INDEX"}:
        done = len(parts) >= 2 and _part_of_table(session, text, parts, name, kind)
    else:
        done = _object(session, text, name) or (
            kind is None
            and len(parts) >= 2
            and (
                _part_of_table(session, text, parts, name, "COLUMN")
                or _part_of_table(session, text, parts, name, "INDEX")
            )
        )
    if not done:
        raise SqlError(15225, text, session.database.name, kind or "(null)")
    session.info(CAUTION, 0, 15477)
    return 0


def _object(session: SessionState, text: str, name: str) -> bool:
    database, item = find_object(session, text)
    if (
        item is None
        or not hasattr(item, "object_id")
        or database is not session.database
        or getattr(item, "temporary", False)
    ):
        return False
    home = item if not isinstance(item, Constraint) else database.object_by_id(item.parent_id)
    if (item.schema.lower(), item.name.lower()) not in database.objects or not has_permission(
        session, "ALTER", home
    ):
        return False
    if moved(session, item, name=name) is None:
        raise NotSupported(f"sp_rename of a {item.kind.lower()}")
    taken = database.objects.get((item.schema.lower(), name.lower()))
    if taken is not None and taken is not item:
        raise SqlError(15335, name, "object")
    if enforced(database, item):
        raise SqlError(15336, text)
    transaction = session.work()
    lock_definition(session, transaction, database, home.object_id)
    rename_object(session, transaction, database, item, name)
    return True


def _part_of_table(
    session: SessionState, text: str, parts: list[str], name: str, kind: str
) -> bool:
    owner = ".".join("[" + part.replace("]", "]]") + "]" for part in parts[:-1])
    database, table = find_object(session, owner)
    if not isinstance(table, Table) or not (
        table.temporary or has_permission(session, "ALTER", table)
    ):
        return False
    transaction = session.work()
    if not table.temporary:
        lock_definition(session, transaction, database, table.object_id)
    last = parts[-1].lower()
    if kind == "COLUMN":
        ordinal = table.ordinals.get(last)
        if ordinal is None:
            return False
        if table.ordinals.get(name.lower(), ordinal) != ordinal:
            raise SqlError(15335, name, "COLUMN")
        put_table(
            session,
            transaction,
            database,
            rename_column(session, transaction, database, table, ordinal, name),
        )
        return True
    index = next((i for i in all_indexes(table) if i.name.lower() == last), None)
    if index is None or table.temporary:
        return False
    if any(i.name.lower() == name.lower() and i is not index for i in all_indexes(table)):
        raise SqlError(15335, name, "INDEX")
    constraint = database.objects.get((table.schema.lower(), last))
    if isinstance(constraint, Constraint) and index.constraint:
        rename_object(session, transaction, database, constraint, name)
    else:
        rename_index(session, transaction, database, table, index, name)
    return True

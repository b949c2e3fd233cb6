"""What a database has from the template it is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.storage import Table
from redial_broker.exec.objects import Module, Sequence

if TYPE_CHECKING:
    from redial_broker.exec.database import Database

COPIES = (
    "types",
    "schemas",
    "principals",
    "members",
    "permissions",
    "properties",
    "dates",
    "owners",
    "options",
    "keys",
    "signatures",
)
"""Mappings it has a copy of."""

SAME = (
    "owner",
    "lost_owner",
    "recovery",
    "user_access",
    "master_key",
    "next_key",
    "_next_object",
    "next_principal",
    "next_schema",
    "next_type",
    "next_collection",
)
"""Values it has as they are."""


def fill(twin: Database, template: Database) -> None:
    """Give a new database the definitions of another one, with empty tables."""
    for key, item in template.objects.items():
        twin.objects[key] = _copy(item, twin)
    for key, collection in template.collections.items():
        twin.collections[key] = collection.copy()
    twin.ddl_triggers = {key: item.copy(twin) for key, item in template.ddl_triggers.items()}
    for name in COPIES:
        setattr(twin, name, dict(getattr(template, name)))
    for name in SAME:
        setattr(twin, name, getattr(template, name))


def _copy(item: Any, twin: Database) -> Any:
    """An object of any kind: immutable ones are shared."""
    if isinstance(item, Table):
        return item.empty_copy(twin.engine.journal, twin, twin.engine.hobt_ids)
    if isinstance(item, Module):
        return item.copy(twin)
    return item.copy() if isinstance(item, Sequence) else item

"""What of a database goes into the state hash (``Database.STATE`` says which field shows what)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import Part
from redial_broker.engine.state import plain

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.xml.schemas import XmlSchemaCollection

# Any below: contents are for the hash only.


def objects(found: dict[tuple[str, str], Any]) -> Any:
    """Every object by its name; tables, queues and sequences are parts of their own."""
    return [
        (key, item.object_id, None if isinstance(item, Part) else plain(item))
        for key, item in sorted(found.items())
    ]


def collections(found: dict[tuple[str, str], XmlSchemaCollection]) -> Any:
    """XML schema collections with their texts."""
    return [collection.content() for _, collection in sorted(found.items())]


def changing(found: dict[tuple[str, str], tuple[Transaction, int]]) -> Any:
    """Who has defined or dropped what, and not committed."""
    return sorted([(key, str(t.owner.id), number) for key, (t, number) in found.items()])

"""sys.xml_schema_collections and sys.xml_schema_namespaces (the views' pages).

The views of components, elements, types and facets are refused by name: lxml does not say what a
schema was made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lxml import etree

from redial_broker.catalog.functions import function
from redial_broker.catalog.internal_tables import SYS_SCHEMA
from redial_broker.catalog.views import view
from redial_broker.engine.errors import SqlError
from redial_broker.exec.database import Database
from redial_broker.exec.xml.schemas import documents_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_BUILT_IN = 1
_BUILT_IN_NAMESPACES = (
    "http://www.w3.org/2001/XMLSchema",
    "http://schemas.microsoft.com/sqlserver/2004/sqltypes",
    "http://www.w3.org/XML/1998/namespace",
)
"""Namespaces of the built-in collection sys.sys."""


@view(
    "sys.xml_schema_collections",
    """
xml_collection_id int
schema_id int
principal_id int?
name sysname
create_date datetime
modify_date datetime""",
)
def collections(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The built-in collection and those of users."""
    made = db.created
    yield _BUILT_IN, SYS_SCHEMA, None, "sys", made, made
    for item in sorted(db.collections.values(), key=lambda c: c.xml_collection_id):
        yield (
            item.xml_collection_id,
            db.schema_of(item).schema_id,
            item.owner,
            item.name,
            item.created,
            item.modified,
        )


@view(
    "sys.xml_schema_namespaces",
    """
xml_collection_id int
name nvarchar(4000)
xml_namespace_id int""",
)
def namespaces(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Target namespaces, numbered within their collection."""
    for number, name in enumerate(_BUILT_IN_NAMESPACES, 1):
        yield _BUILT_IN, name, number
    for item in sorted(db.collections.values(), key=lambda c: c.xml_collection_id):
        for number, name in enumerate(item.namespaces(), 1):
            yield item.xml_collection_id, name, number


@function("XML_SCHEMA_NAMESPACE", optional=1)
def schema_namespace(
    session: SessionState, schema: str | None, name: str | None, namespace: str | None = None
) -> str | None:
    """The schema documents of a collection as xml, of one namespace or all.

    They are the texts given to CREATE and ALTER; the server writes them anew from its metadata.
    """
    if schema is None or name is None:
        raise SqlError(8116, "NULL", 1 if schema is None else 2, "xml_schema_namespace")
    found = session.database.collections.get((schema.lower(), name.lower()))
    if found is None:
        raise SqlError(6314, f"{schema}.{name}")
    documents = documents_of(found.texts)
    return "".join(
        etree.tostring(item, encoding="unicode", with_tail=False)
        for item in documents
        if namespace is None or (item.get("targetNamespace") or "") == namespace
    )

"""XML schema collections, and the xml types bound to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from lxml import etree

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import Part
from redial_broker.engine.state import definition, derived, journaled, made, state
from redial_broker.engine.types import SqlType
from redial_broker.exec.xml.document import decode_bytes, parse, serialize_content
from redial_broker.exec.xml.nodes import DOCUMENT, ELEMENT, Node
from redial_broker.exec.xml.validation import validated
from redial_broker.exec.xml.xsd import Names, components, names_of, schema_documents, validator

FIRST_COLLECTION = 65536
"""xml_collection_id of a database's first collection (observed, F-221)."""


class XmlSchemaCollection(Part):
    """A collection: one Part for its whole life, so that types bound to it see what ALTER adds.

    texts: what CREATE and each ALTER gave; owner: principal id or None; kept: the validator made of
    the texts and what they say of names, made anew when they change; bound: the types made of it.
    """

    __slots__ = (
        "bound",
        "created",
        "kept",
        "kind",
        "modified",
        "name",
        "object_id",
        "owner",
        "schema",
        "texts",
        "xml_collection_id",
    )
    STATE = state(
        made("schema", "name", "xml_collection_id"),
        journaled("texts", "owner"),
        made("object_id", "kind", hidden="follows from the id"),
        made("created", hidden="the database shows it, where T-SQL can read it"),
        journaled("modified", hidden="the database shows it, where T-SQL can read it"),
        derived("kept", "bound", why="made of the texts"),
    )

    def __init__(self, name: str, schema: str, number: int, text: str, created: Any) -> None:
        super().__init__()
        self.name, self.schema, self.xml_collection_id = name, schema, number
        self.object_id, self.kind = number, "XML SCHEMA COLLECTION"
        self.texts: tuple[str, ...] = (text,)
        self.created = self.modified = created
        self.owner: int | None = None
        self.kept: tuple[Any, ...] | None = None
        self.bound: dict[bool, TypedXml] = {}

    def copy(self) -> XmlSchemaCollection:
        """The same collection for a database made from a template."""
        twin = XmlSchemaCollection(self.name, self.schema, self.xml_collection_id, "", self.created)
        twin.texts, twin.modified, twin.owner = self.texts, self.modified, self.owner
        return twin

    # ------------------------------------------------------------------ derived
    def _made(self) -> tuple[tuple[str, ...], etree.XMLSchema, Names]:
        if self.kept is None or self.kept[0] != self.texts:
            documents = documents_of(self.texts)
            self.kept = (self.texts, validator(documents), names_of(documents))
        return self.kept

    def namespaces(self) -> list[str]:
        """Target namespaces in the order they were added."""
        return list(
            dict.fromkeys(
                document.get("targetNamespace") or "" for document in documents_of(self.texts)
            )
        )

    def typing(self) -> Callable[[str, str], tuple[str, bool] | None]:
        """What static typing asks: (kind, local name) -> (simple type, at most once) or None."""
        return self._made()[2].typing

    def nillable(self, node: Node) -> bool:
        """Whether an element may be marked xsi:nil."""
        return node.kind == ELEMENT and node.name in self._made()[2].nillable

    def validate(self, text: str, document: bool = False) -> str:
        """The instance in canonical form; a 69xx error when it does not fit."""
        _, schema, names = self._made()
        return validated(text, schema, names, document)

    def failure(self, body: bytes) -> str | None:
        """Why a message body does not fit, None when it does (VALIDATION = VALID_XML)."""
        try:
            self.validate(serialize_content(parse(decode_bytes(body), keep_blanks=True)))
        except SqlError as error:
            return error.text
        return None


def documents_of(texts: tuple[str, ...]) -> list[etree._Element]:
    """The schema documents of all texts."""
    return [document for text in texts for document in schema_documents(text)]


def check_new(old: tuple[str, ...], text: str) -> None:
    """Whether a collection of ``old`` texts may get this one too. Raises 6310, 2302, 2307 ..."""
    known = set(components(documents_of(old)))
    added = schema_documents(text)
    for namespace, name, kind in components(added):
        if (namespace, name, kind) in known:
            raise SqlError(6310, namespace, name, kind, aborts="scope")
    if added:
        validator(documents_of((*old, text)))


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class TypedXml(SqlType):
    """xml(collection)."""

    collection: XmlSchemaCollection = None  # type: ignore[assignment]  # always given
    document: bool = False
    """xml(DOCUMENT collection)."""

    def typing(self, kind: str, name: str) -> tuple[str, bool] | None:
        """What static typing asks; a DOCUMENT has one top element ("xml(DOCUMENT ...)")."""
        if kind == DOCUMENT:
            return "", self.document
        return self.collection.typing()(kind, name)

    def __str__(self) -> str:
        facet = "DOCUMENT " if self.document else ""
        return f"xml({facet}{self.collection.schema}.{self.collection.name})"


def typed_xml(collection: XmlSchemaCollection, document: bool) -> TypedXml:
    """The one type bound to a collection, so that types compare by identity."""
    found = collection.bound.get(document)
    if found is None:
        found = collection.bound[document] = TypedXml(
            "xml", collection=collection, document=document
        )
    return found


def xml_binding(of: SqlType) -> tuple[int, int]:
    """(is_xml_document, xml_collection_id) of a type: zeros unless it is bound to a collection."""
    collection = getattr(of, "collection", None)
    if collection is None:
        return 0, 0
    return int(cast("TypedXml", of).document), collection.xml_collection_id

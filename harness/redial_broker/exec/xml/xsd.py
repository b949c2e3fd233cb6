"""XML schema documents: what a collection declares, and the validator lxml makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.xml.document import parse
from redial_broker.exec.xml.nodes import ATTRIBUTE, ELEMENT
from redial_broker.exec.xml.xquery.types import ATOMIC

XS = "http://www.w3.org/2001/XMLSchema"
_XS = f"{{{XS}}}"
_ADDRESS = "redial-collection:"
_GLOBAL = {
    "element": "ELEMENT",
    "attribute": "ATTRIBUTE",
    "simpleType": "TYPE",
    "complexType": "TYPE",
    "group": "MODELGROUP",
    "attributeGroup": "ATTRIBUTEGROUP",
}
_UNSUPPORTED = {
    "include": "<xs:include>",
    "notation": "<xs:notation>",
    "unique": "unique",
    "key": "key",
    "keyref": "keyref",
}
_UNKNOWN_NAME, _DEFINED_TWICE = 3004, 1761


def schema_documents(text: str) -> list[etree._Element]:
    """The schema elements of a text. Raises 94xx for no XML, 2378 for no schema, 9336 and 2391.

    What the server has no support for: "Guidelines and limitations of XML schema collections on
    the server" page.
    """
    found = []
    for item in parse(text):
        if item.tag != f"{_XS}schema":
            if isinstance(item.tag, str):
                raise SqlError(2378, "", aborts="scope")
            continue
        for part in item.iter(f"{_XS}*"):
            local = etree.QName(part).localname
            if local == "redefine":
                raise SqlError(2391, "", aborts="scope")
            if local in _UNSUPPORTED:
                raise SqlError(9336, "", _UNSUPPORTED[local], aborts="scope")
        found.append(item)
    if not found and text.strip():
        raise SqlError(2378, "", aborts="scope")
    return found


def components(documents: list[etree._Element]) -> Iterator[tuple[str, str, str]]:
    """(namespace, name, kind) of everything declared globally."""
    for document in documents:
        namespace = document.get("targetNamespace") or ""
        for part in document:
            if isinstance(part.tag, str) and part.get("name"):
                kind = _GLOBAL.get(etree.QName(part).localname)
                if kind:
                    yield namespace, part.get("name"), kind


class _Documents(etree.Resolver):  # type: ignore[misc]  # lxml says nothing of types
    """Hands the parts of a collection to the schema that imports them."""

    def __init__(self, texts: dict[str, bytes]) -> None:
        super().__init__()
        self.texts = texts

    def resolve(self, url: str, public_id: str, context: object) -> object:
        text = self.texts.get(url.rpartition("/")[2])
        return None if text is None else self.resolve_string(text, context)


def validator(documents: list[etree._Element]) -> etree.XMLSchema:
    """lxml's schema over all documents. Raises 2307 or 2302, NotSupported for what it cannot read.

    One document alone is used as it is; several are imported into an empty one, those of one
    namespace put together first.
    """
    by_namespace: dict[str, list[etree._Element]] = {}
    for document in documents:
        by_namespace.setdefault(document.get("targetNamespace") or "", []).append(document)
    texts: dict[str, bytes] = {}
    addresses = {uri: f"{_ADDRESS}{n}.xsd" for n, uri in enumerate(by_namespace)}
    for uri, parts in by_namespace.items():
        for place, part in enumerate(parts):
            name = addresses[uri] if place == 0 else addresses[uri].replace(".xsd", f"-{place}.xsd")
            texts[name] = _prepared(part, addresses, parts if place == 0 else [], addresses[uri])
    wrapper = etree.Element(f"{_XS}schema", nsmap={"xs": XS})
    for uri in by_namespace:
        made = etree.SubElement(wrapper, f"{_XS}import", schemaLocation=addresses[uri])
        if uri:
            made.set("namespace", uri)
    if set(by_namespace) == {""}:
        whole = texts[addresses[""]]
    else:
        whole = etree.tostring(wrapper)
    parser = etree.XMLParser(no_network=True, resolve_entities=False)
    parser.resolvers.add(_Documents(texts))
    try:
        return etree.XMLSchema(etree.fromstring(whole, parser, base_url=f"{_ADDRESS}all.xsd"))
    except etree.XMLSchemaParseError as error:
        raise _refusal(error) from None


def _prepared(
    document: etree._Element, addresses: dict[str, str], parts: list[etree._Element], own: str
) -> bytes:
    """A document whose imports lead to the other documents of the collection."""
    try:
        copy = etree.fromstring(etree.tostring(document, with_tail=False))
    except etree.XMLSyntaxError:  # names our document takes and lxml does not read back
        raise NotSupported("an XML schema with such names") from None
    for item in copy.findall(f"{_XS}import"):
        address = addresses.get(item.get("namespace") or "")
        item.attrib.pop("schemaLocation", None)
        if address:
            item.set("schemaLocation", address)
    for place in range(1, len(parts)):
        item = etree.Element(f"{_XS}include", schemaLocation=own.replace(".xsd", f"-{place}.xsd"))
        copy.insert(0, item)
    text: bytes = etree.tostring(copy)
    return text


def _refusal(error: etree.XMLSchemaParseError) -> SqlError:
    entry = error.error_log[0] if len(error.error_log) else None
    message = entry.message if entry is not None else str(error)
    if entry is not None and entry.type == _UNKNOWN_NAME:
        name = message.split("The QName value '")[-1].split("'")[0]
        uri, _, local = name.rpartition("}")
        return (
            SqlError(2308, "", local, uri[1:], aborts="scope")
            if uri
            else SqlError(2307, "", name, aborts="scope")
        )
    if entry is not None and entry.type == _DEFINED_TWICE:
        name = message.split("'")[-2]
        return SqlError(2302, "", name, aborts="scope")
    return NotSupported(f"this XML schema ({message})")


# ---------------------------------------------------------------------- what names are known for
@dataclass(slots=True)
class Names:
    """Simple types by (kind, local name), "" for none, and which elements occur at most once.

    Keyed by name alone: a name declared twice with different types counts as untyped, one that may
    occur several times anywhere is never single.
    """

    types: dict[tuple[str, str], str] = field(default_factory=dict)
    plural: set[str] = field(default_factory=set)
    single: set[str] = field(default_factory=set)
    nillable: set[str] = field(default_factory=set)

    def typing(self, kind: str, name: str) -> tuple[str, bool] | None:
        """(simple type or "", at most once) of a name, None for one nothing declares."""
        known = self.types.get((kind, name))
        if known is None:
            return None
        return known, name in self.single and name not in self.plural


def names_of(documents: list[etree._Element]) -> Names:
    """What the declarations of a collection say of element and attribute names."""
    found = Names()
    named = {
        item.get("name"): item
        for document in documents
        for item in document
        if isinstance(item.tag, str)
        and item.get("name")
        and etree.QName(item).localname in {"simpleType", "complexType"}
    }
    for document in documents:
        for kind, tag in ((ELEMENT, f"{_XS}element"), (ATTRIBUTE, f"{_XS}attribute")):
            for item in document.iter(tag):
                _note(found, kind, item, named)
    return found


def _note(found: Names, kind: str, item: etree._Element, named: dict[Any, Any]) -> None:
    name = item.get("name")
    if kind == ELEMENT:
        plain = name or (item.get("ref") or "").rpartition(":")[2]
        if item.getparent().tag != f"{_XS}schema":
            many = item.get("maxOccurs", "1") not in {"0", "1"} or _repeated(item)
            (found.plural if many else found.single).add(plain)
    if not name:
        return
    if item.get("nillable") in {"true", "1"}:
        found.nillable.add(name)
    of = _simple_type(item, named)
    known = found.types.get((kind, name))
    found.types[kind, name] = of if known in {None, of} else ""


def _repeated(item: etree._Element) -> bool:
    """Whether a group around an element may occur several times."""
    above = item.getparent()
    while above is not None and above.tag in {f"{_XS}sequence", f"{_XS}choice", f"{_XS}all"}:
        if above.get("maxOccurs", "1") not in {"0", "1"}:
            return True
        above = above.getparent()
    return False


def _simple_type(item: etree._Element, named: dict[Any, Any]) -> str:
    """The built-in simple type an element or attribute has in the end; "" for complex content."""
    stated = item.get("type")
    if stated is not None:
        return _of_name(stated, item, named)
    for child in item:
        if isinstance(child.tag, str) and etree.QName(child).localname in {
            "simpleType",
            "complexType",
        }:
            return _of_definition(child, named)
    return ""


def _of_name(name: str, item: etree._Element, named: dict[Any, Any]) -> str:
    prefix, _, local = name.rpartition(":")
    if item.nsmap.get(prefix or None) == XS:
        return f"xs:{local}" if f"xs:{local}" in ATOMIC else ""
    definition = named.get(local)
    return _of_definition(definition, named) if definition is not None else ""


def _of_definition(definition: etree._Element, named: dict[Any, Any], depth: int = 0) -> str:
    for part in definition.iter(f"{_XS}restriction", f"{_XS}extension"):
        above = part.getparent()
        if above is not definition and above.tag != f"{_XS}simpleContent":
            continue
        base = part.get("base")
        return _of_name(base, part, named) if base and depth < 32 else ""
    return ""

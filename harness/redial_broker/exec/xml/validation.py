"""Typed xml: an instance checked against a schema collection and put into canonical form.

lxml finds what is wrong; which number and which location the server reports for it: errors-events
pages and F-221.
"""

from __future__ import annotations

import re
from typing import Any

from lxml import etree
from lxml.etree import ErrorTypes

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.xml.document import parse, serialize_content
from redial_broker.exec.xml.nodes import ATTRIBUTE, ELEMENT
from redial_broker.exec.xml.xquery.types import DECIMAL, DOUBLE, FLOAT, INTEGERS, STRING
from redial_broker.exec.xml.xquery.values import read, text_of
from redial_broker.exec.xml.xsd import Names

_NAME = re.compile(r"Element '(?P<element>[^']*)'(?:, attribute '(?P<attribute>[^']*)')?")
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (?P<names>[^)]*) \)")
_QUOTED = re.compile(r"'([^']*)'")
_SIMPLE = frozenset(
    range(ErrorTypes.SCHEMAV_CVC_DATATYPE_VALID_1_2_1, ErrorTypes.SCHEMAV_CVC_TYPE_3_1_1)
) | frozenset(
    range(ErrorTypes.SCHEMAV_CVC_LENGTH_VALID, ErrorTypes.SCHEMAV_CVC_ENUMERATION_VALID + 1)
)
_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"


def validated(text: str, schema: etree.XMLSchema, names: Names, document: bool) -> str:
    """The instance in canonical form. document: exactly one element (6901).

    Raises the 69xx error of the first thing that does not fit the schema.
    """
    root = parse(text, keep_blanks=True)
    tops = [item for item in root if isinstance(item.tag, str)]
    loose = (root.text or "") + "".join(item.tail or "" for item in root)
    if document and (len(tops) != 1 or loose.strip()):
        raise SqlError(6901, state=1 if tops else 2)
    if loose.strip():
        raise SqlError(6909, "/")
    for top in tops:
        # The element alone: the wrapper around it is not part of the instance.
        alone = etree.fromstring(etree.tostring(top, with_tail=False))
        if not schema.validate(alone):
            raise _error(schema.error_log, alone)
        _canonical(top, names)
    return serialize_content(root)


def _error(log: Any, top: etree._Element) -> SqlError:
    entries = list(log)
    # A missing element is told after the values in it; the first in document order counts.
    entry = entries[0]
    found = top.xpath(entry.path) if entry.path else [top]
    node = found[0] if found else top
    place = location(node)
    match = _NAME.match(entry.message)
    name = match["element"] if match else node.tag
    attribute = match["attribute"] if match else None
    if attribute:
        place = f"{place}/@*:{etree.QName(attribute).localname}"
    if entry.type in _SIMPLE:
        value = node.get(attribute) if attribute else "".join(node.itertext())
        return SqlError(6926, value or "", place)
    return _structural(entry, name, attribute, node, place)


def _structural(entry: Any, name: str, attribute: str | None, node: Any, place: str) -> SqlError:
    kind, message = entry.type, entry.message
    if kind == ErrorTypes.SCHEMAV_CVC_ELT_1:
        return SqlError(6913, name, place)
    if kind == ErrorTypes.SCHEMAV_ELEMENT_CONTENT:
        return _content(message, name, place)
    if kind in {
        ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_3_2_1,
        ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_3_2_2,
    }:
        return SqlError(6905, attribute, place, state=3)
    if kind == ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_4:
        return SqlError(6906, _QUOTED.findall(message)[1], place)
    if kind == ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_2_3:
        return SqlError(6909, place)
    if kind == ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_2_1:
        if "Character" in message:
            return SqlError(6909, place)
        child = next(item for item in node if isinstance(item.tag, str))
        return SqlError(6923, child.tag, location(child))
    if kind in {ErrorTypes.SCHEMAV_CVC_TYPE_3_1_2, ErrorTypes.SCHEMAV_CVC_COMPLEX_TYPE_2_2}:
        child = next(item for item in node if isinstance(item.tag, str))
        return SqlError(6912, child.tag, location(child))
    if kind in {ErrorTypes.SCHEMAV_CVC_ELT_3_1, ErrorTypes.SCHEMAV_CVC_ELT_3_2_2}:
        return SqlError(6917, name, place)
    if kind == ErrorTypes.SCHEMAV_CVC_ELT_3_2_1:
        return SqlError(6918, name, place)
    if kind == ErrorTypes.SCHEMAV_CVC_ELT_4_2:
        return SqlError(6914, _QUOTED.findall(message)[-1], location(node))
    if kind == ErrorTypes.SCHEMAV_CVC_ELT_4_3:
        return SqlError(6936, name, "", node.get(f"{_XSI}type"), location(node))
    if kind in {ErrorTypes.SCHEMAV_CVC_TYPE_2, ErrorTypes.SCHEMAV_CVC_ELT_2}:
        return SqlError(6919, name, place)
    if kind in {ErrorTypes.SCHEMAV_CVC_ELT_5_2_2_2_2, ErrorTypes.SCHEMAV_CVC_AU}:
        return SqlError(6921, attribute or name, place)
    raise NotSupported(f"the schema rule behind: {message}")


def _content(message: str, name: str, place: str) -> SqlError:
    """6908 when something is missing, 6965 for one thing in place of another, 6923 for too much."""
    expected = _EXPECTED.search(message)
    shown = ""
    if expected:
        names = [item.strip().replace("##other", "*") for item in expected["names"].split(",")]
        shown = ",".join(f"'{item}'" for item in names)
    if "Missing" in message:
        return SqlError(6908, shown, place)
    if expected:
        return SqlError(6965, shown, name, place)
    if "No matching global" in message:
        return SqlError(6913, name, place)
    return SqlError(6923, name, place)


def location(node: etree._Element) -> str:
    """``/*:r[1]/*:a[2]``: the steps to a node, each with its number among those of its name."""
    steps = []
    while node is not None:
        above = node.getparent()
        same = [item for item in above if item.tag == node.tag] if above is not None else [node]
        steps.append(f"/*:{etree.QName(node).localname}[{same.index(node) + 1}]")
        node = above
    return "".join(reversed(steps))


# ---------------------------------------------------------------------- canonical form
_COLLAPSED = frozenset(
    {"xs:token", "xs:anyURI", "xs:Name", "xs:NCName", "xs:NMTOKEN", "xs:language"}
)
_CANONICAL = INTEGERS | {DECIMAL, DOUBLE, FLOAT, "xs:boolean", "xs:hexBinary", "xs:base64Binary"}


def canonical(kind: str, text: str) -> str:
    """A value as typed xml stores it: 040.0 of a decimal is 40 (F-221)."""
    if kind in _COLLAPSED:
        return " ".join(text.split())
    if kind == "xs:normalizedString":
        return re.sub(r"[\t\r\n]", " ", text)
    if kind == STRING or kind not in _CANONICAL:
        return text
    value = read(kind, text)
    return text if value is None else text_of(value)


def _canonical(top: etree._Element, names: Names) -> None:
    for item in top.iter():
        if not isinstance(item.tag, str):
            continue
        for name, value in item.attrib.items():
            kind = names.types.get((ATTRIBUTE, etree.QName(name).localname))
            if kind and not name.startswith(_XSI):
                item.set(name, canonical(kind, value))
        kind = names.types.get((ELEMENT, etree.QName(item).localname))
        if len(item):
            _drop_blanks(item)
        elif kind and item.text and item.get(f"{_XSI}type") is None:
            item.text = canonical(kind, item.text)


def _drop_blanks(item: etree._Element) -> None:
    """Blanks between elements are no content, as in untyped xml."""
    if item.text is not None and not item.text.strip():
        item.text = None
    for child in item:
        if child.tail is not None and not child.tail.strip():
            child.tail = None

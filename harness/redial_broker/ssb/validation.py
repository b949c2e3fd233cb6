"""Message type validation, done where a message arrives (message types page)."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import TYPE_CHECKING

from lxml import etree

from redial_broker.ssb import names

if TYPE_CHECKING:
    from redial_broker.ssb.needs import BodyCheck


def failure(
    validation: str,
    body: bytes | None,
    collection: BodyCheck | None = None,
    text_outside: bool = False,
) -> str | None:
    """Why a body fails, None when it passes. collection: of VALID_XML, has ``failure(body)``.
    text_outside: text beside or without elements is well-formed too (F-244).

    A NULL body passes XML validation too (observed: five NULL bodies received under an XML type).
    """
    if validation == names.NONE:
        return None
    if validation == names.EMPTY:
        return None if body is None else "The message body must be empty."
    if body is None:
        return None
    return _not_well_formed(body, text_outside) if collection is None else collection.failure(body)


def _not_well_formed(body: bytes, text_outside: bool) -> str | None:
    """The parser's complaint about bytes that should be one well-formed XML document.

    nvarchar text sent without a byte order mark is UTF-16LE all the same: every second byte of its
    first characters is zero.
    """
    data = body
    if body[:2] not in {BOM_UTF16_LE, BOM_UTF16_BE} and len(body) > 1 and body[1] == 0:
        data = BOM_UTF16_LE + body
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
    )
    try:
        etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if _fragment(data, text_outside):
            return None
        line, column = error.position
        return f"XML parsing: line {line}, character {max(1, column)}, the text is not well-formed."
    return None


_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def _fragment(data: bytes, text_outside: bool) -> bool:
    """Whether the body is a row of elements without a root, as FOR XML without ROOT makes it.

    A server takes those under WELL_FORMED_XML (F-244): the xml type holds them too.
    """
    encoding = "utf-16" if data[:2] in {BOM_UTF16_LE, BOM_UTF16_BE} else "utf-8"
    try:
        text = _DECLARATION.sub("", data.decode(encoding).lstrip("\ufeff"))
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
        )
        root = etree.fromstring(f"<_>{text}</_>", parser)
    except (UnicodeDecodeError, etree.XMLSyntaxError, ValueError):
        return False
    texts = [root.text, *(child.tail for child in root)]
    if text_outside:
        return True
    return len(root) > 0 and not any(part and part.strip() for part in texts)

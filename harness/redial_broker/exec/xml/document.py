"""Reading and writing xml values.

The xml type holds content, not only documents: several top elements, bare text or nothing at all
are values. So content is parsed inside a wrapper element that is never serialized. White space
between elements is dropped, as CAST does ("CAST and CONVERT" page, xml styles). Neither entities
nor external files are ever resolved.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from functools import lru_cache
from html import escape

from lxml import etree
from lxml.etree import ErrorTypes

from redial_broker.engine.errors import SqlError
from redial_broker.exec.xml.nodes import (
    CLOSING,
    OPENING,
    TREE_TEXT_LIMIT,
    TREES_KEPT,
    WRAPPER,
    XML_URI,
)

_DECLARATION = re.compile(r"<\?xml\b[^>]*?\?>")
_ENCODING = re.compile(r"""encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_BLANKS = re.compile(r">\s+<|^\s+<|>\s+$")
_UTF16_NAMES = frozenset({"utf-16", "ucs-2", "utf-16le", "utf16", "unicode"})
_XML_SPACE = f"{{{XML_URI}}}space"

_NUMBER_OF_ERROR = {
    ErrorTypes.ERR_TAG_NAME_MISMATCH: 9436,
    ErrorTypes.ERR_ATTRIBUTE_REDEFINED: 9437,
    ErrorTypes.ERR_UNDECLARED_ENTITY: 9448,
    ErrorTypes.WAR_UNDECLARED_ENTITY: 9448,
    ErrorTypes.ERR_ATTRIBUTE_NOT_STARTED: 9413,
    ErrorTypes.ERR_ATTRIBUTE_WITHOUT_VALUE: 9414,
    ErrorTypes.ERR_SPACE_REQUIRED: 9410,
    ErrorTypes.ERR_GT_REQUIRED: 9412,
    ErrorTypes.ERR_NAME_REQUIRED: 9455,
    ErrorTypes.ERR_TAG_NOT_FINISHED: 9400,
    ErrorTypes.ERR_DOCUMENT_END: 9400,
    ErrorTypes.ERR_LT_IN_ATTRIBUTE: 9420,
    ErrorTypes.ERR_INVALID_CHAR: 9420,
    ErrorTypes.ERR_INVALID_CHARREF: 9420,
    ErrorTypes.ERR_ENTITYREF_SEMICOL_MISSING: 9411,
    ErrorTypes.ERR_EXTRA_CONTENT: 9422,
    ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE: 9459,
}


_PARSER = etree.XMLParser(
    resolve_entities=False,
    no_network=True,
    load_dtd=False,
    huge_tree=True,
    remove_blank_text=False,
)


def decode_bytes(value: bytes) -> str:
    """The text of XML bytes: by byte order mark, by UTF-16 pattern, by declaration, else UTF-8.

    Bytes and declaration that contradict each other: 9402 ("Create instances of XML data").
    """
    if value.startswith(BOM_UTF16_LE):
        return _two_bytes(value[2:], "utf-16-le")
    if value.startswith(BOM_UTF16_BE):
        return _two_bytes(value[2:], "utf-16-be")
    # An nvarchar body sent as it is has no mark: its every second byte is zero.
    if len(value) >= 2 and value[1] == 0 and value[0] != 0:
        return _two_bytes(value, "utf-16-le")
    value = value.removeprefix(BOM_UTF8)
    declared = _DECLARATION.match(value[:200].decode("latin-1"))
    encoding = _ENCODING.search(declared[0]) if declared else None
    if declared is None or encoding is None:
        return _decoded(value, "utf-8")
    name = encoding[1].lower()
    if name in _UTF16_NAMES:
        raise SqlError(9402, 1, declared.end())
    return _decoded(value, name)


def _two_bytes(value: bytes, codec: str) -> str:
    text = _decoded(value, codec)
    _refuse_one_byte(text)
    return text


def _refuse_one_byte(text: str) -> None:
    """9402, at its end, where the declaration of two-byte text names another encoding."""
    content, _ = _content(text)
    declared = text[: len(text) - len(content)]
    encoding = _ENCODING.search(declared)
    if encoding and encoding[1].lower() not in _UTF16_NAMES:
        raise SqlError(9402, 1, len(declared))


def _decoded(value: bytes, codec: str) -> str:
    try:
        return value.decode(codec)
    except (UnicodeDecodeError, LookupError):
        raise SqlError(9420, 1, 1) from None


def _content(text: str) -> tuple[str, int]:
    """The text without its declaration, and how many characters of line one that removed."""
    body = text[1:] if text.startswith("\ufeff") else text
    declared = _DECLARATION.match(body.lstrip()) if body.lstrip().startswith("<?xml") else None
    if not declared:
        return body, 0
    skipped = len(body) - len(body.lstrip()) + declared.end()
    return body[skipped:], skipped


def parse(text: str, *, keep_blanks: bool = False) -> etree._Element:
    """The wrapper element around the content; raises 94xx or 6359 (both end the batch)."""
    content, skipped = _content(text)
    if "<!DOCTYPE" in content:
        raise SqlError(6359)
    try:
        root = etree.fromstring(OPENING + content + CLOSING, _PARSER)
    except etree.XMLSyntaxError as error:
        raise _as_sql_error(error, content, skipped) from None
    except ValueError:
        # Python refuses NUL and control characters before libxml2 sees them.
        raise SqlError(9420, 1, _first_control(content) + skipped) from None
    if not keep_blanks and _BLANKS.search(content):
        _drop_blanks(root)
    return root


def _first_control(content: str) -> int:
    for at, char in enumerate(content):
        if char < " " and char not in "\t\r\n":
            return at + 1
    return 1


def _as_sql_error(error: etree.XMLSyntaxError, content: str, skipped: int) -> SqlError:
    line, column = error.position
    number = _NUMBER_OF_ERROR.get(error.code, 9422)
    if number == 9436 and error.msg.split(",")[0].endswith(f"and {WRAPPER}"):
        # Our own end tag met an open element: for the server the input simply ended.
        lines = content.split("\n")
        line, column, number = len(lines), len(lines[-1]) + skipped, 9400
    elif line == 1:
        column = max(1, column - len(OPENING) + skipped)
    return SqlError(number, line, max(1, column))


def _drop_blanks(root: etree._Element) -> None:
    """Remove text of nothing but white space, except below xml:space="preserve"."""
    for item in root.iter():
        parent = item.getparent()
        if isinstance(item.tag, str) and _blank(item.text) and not _preserved(item):
            item.text = None
        if _blank(item.tail) and not _preserved(parent):
            item.tail = None


def _blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def _preserved(item: etree._Element) -> bool:
    while item is not None:
        space = item.get(_XML_SPACE) if isinstance(item.tag, str) else None
        if space is not None:
            return bool(space == "preserve")
        item = item.getparent()
    return False


@lru_cache(maxsize=TREES_KEPT)
def _cached_tree(text: str) -> etree._Element:
    return parse(text, keep_blanks=True)


def tree(text: str) -> etree._Element:
    """The parsed form of an xml value; shared, so nobody may change it."""
    return _cached_tree(text) if len(text) <= TREE_TEXT_LIMIT else parse(text, keep_blanks=True)


def serialize_content(root: etree._Element) -> str:
    """The content of a wrapper element as an xml value."""
    parts = [escape(root.text, quote=False)] if root.text else []
    parts.extend(etree.tostring(child, encoding="unicode") for child in root)
    return "".join(parts)


def xml_from_text(text: str, *, keep_blanks: bool = False) -> str:
    """The xml value of a character string."""
    _refuse_one_byte(text)
    return serialize_content(parse(text, keep_blanks=keep_blanks))


def xml_from_ansi(text: str, *, keep_blanks: bool = False) -> str:
    """The xml value of a varchar: any single-byte declaration is fine, UTF-16 is not."""
    content, _ = _content(text)
    declared = text[: len(text) - len(content)]
    encoding = _ENCODING.search(declared)
    if encoding and encoding[1].lower() in _UTF16_NAMES:
        raise SqlError(9402, 1, len(declared))
    return serialize_content(parse(text, keep_blanks=keep_blanks))


def xml_from_bytes(value: bytes, *, keep_blanks: bool = False) -> str:
    """The xml value of binary data, for example a message body."""
    return serialize_content(parse(decode_bytes(value), keep_blanks=keep_blanks))


def is_well_formed(value: bytes) -> bool:
    """What VALIDATION = WELL_FORMED_XML asks of a message body."""
    try:
        parse(decode_bytes(value), keep_blanks=True)
    except SqlError:
        return False
    return True

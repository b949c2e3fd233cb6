"""Bodies of Error messages: XML in UTF-16LE; with a byte order mark by error logs (F-276)."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_LE
from html import escape, unescape  # xml.sax.saxutils would load an HTTP client at start

from redial_broker.ssb.names import ERROR

_FIELDS = re.compile(r"<Code>(-?\d+)</Code><Description>(.*)</Description>", re.DOTALL)


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character no XML 1.0 document may hold."""


def encode(code: int, description: str, *, bom: bool = True, references: bool = False) -> bytes:
    """The body. code: negative for the engine's own errors, positive for END .. WITH ERROR.

    references: characters XML may not hold are written as references, which no XML may hold either.
    """
    shown = escape(description, quote=False).replace("'", "&apos;").replace('"', "&quot;")
    if references:
        shown = _NOT_IN_XML.sub(lambda found: f"&#x{ord(found[0]):X};", shown)
    text = (
        f'<?xml version="1.0"?><Error xmlns="{ERROR}"><Code>{code}</Code>'
        f"<Description>{shown}</Description></Error>"
    )
    return (BOM_UTF16_LE if bom else b"") + text.encode("utf-16-le", "surrogatepass")


def decode(body: bytes) -> tuple[int, str]:
    """(code, description) of a body made by ``encode``; ValueError for any other."""
    found = _FIELDS.search(body.removeprefix(BOM_UTF16_LE).decode("utf-16-le", "surrogatepass"))
    if found is None:
        raise ValueError("not the body of a Service Broker Error message")
    return int(found[1]), unescape(found[2])

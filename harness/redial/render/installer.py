"""redial.sql: every part as a text, for the one batch of 97_installer that runs them in order.

One batch, because nothing else is the same under every tool: some go on behind an error, some open a
connection for each batch, some take a GO for a separator wherever it stands (``render.runners``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from redial.tsql import split_batches

NAME = "redial.sql"
"""The file."""

_NAME = re.compile(r"\d\d_(?:\d\d_)?(.+)\.(table|type|procedure|function|view|trigger)\.sql")
_HEAD = re.compile(r"^CREATE OR ALTER (?:PROCEDURE|FUNCTION|VIEW|TRIGGER)\b", re.MULTILINE)


class Part(NamedTuple):
    """One batch of a rendered file."""

    name: str
    """Of the file."""
    line: int
    """Of the batch in the file, from 1."""
    kind: str
    """Of its one object; empty where there is more than one, or none."""
    object: str
    """Its name, without schema and brackets."""
    text: str


def parts_of(files: Mapping[str, str], header: str) -> Iterator[Part]:
    """The batches of an installation (name -> text, each beginning with ``header``), in order."""
    above = header.count("\n")
    for name, text in files.items():
        found = _NAME.fullmatch(name)
        for batch in split_batches(text.removeprefix(header)):
            module = found is not None and found[2] not in ("table", "type")
            said = found if found and module == bool(_HEAD.search(batch.sql)) else None
            kind, own = (said[2], said[1]) if said else ("", "")
            yield Part(name, above + batch.first_line, kind, own, batch.sql)

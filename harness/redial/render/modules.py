"""The files of a folder: one a module, each with the parts of that module in the order they run.

A part is what one template renders: ``72_03_usp_Send.procedure.sql``. ``CONTENTS`` says in which file
and lines each stands, so that a folder can be read back into the parts that a deployment sends.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from redial.config.choices import CORE
from redial.config.sections import Modules
from redial.tsql import split_batches

HEADER = "SET ANSI_NULLS ON;\nSET QUOTED_IDENTIFIER ON;\nGO\n"
"""Both settings are frozen into a module when it is created, and sqlcmd connects with
QUOTED_IDENTIFIER OFF, which breaks .value() later, inside activation (F-103). A part begins with it."""
PREFLIGHT, FINISH = "0_preflight.sql", "9_finish.sql"
CONTENTS = "CONTENTS"
PART = re.compile(r"(?:target/)?\d\d_[^/]+\.sql")
"""The name of a part."""
_BEFORE, _AFTER = 30, 81
"""Areas of the core with a number below the first are in 0_preflight, from the second on in 9_finish."""
WHOLE = re.compile(r"(?:target/)?81_modules\.")
"""The part that looks whether all is there; for other tools, as ``redial deploy`` looks at more."""
_ORDER = (CORE, *Modules.model_fields)
_NAMED = re.compile(r"\d\d_(?:\d\d_)?(.+)\.(table|type|procedure|function|view|trigger)\.sql")
MODULES = frozenset({"procedure", "function", "view", "trigger"})
"""Kinds of an object that is a module: a text in sys.sql_modules."""
_HEAD = re.compile(r"^CREATE OR ALTER (?:PROCEDURE|FUNCTION|VIEW|TRIGGER)\b", re.MULTILINE)
_GO = re.compile(r"^GO\n", re.MULTILINE)
STOP = "IF @@ERROR <> 0 SET NOEXEC ON;\nGO\n"
"""What stands behind a batch (F-350); no part of ours has it itself."""
_LINE = re.compile(r"(\S+) +(\d+)-(\d+) +(\S+)")


class Place(NamedTuple):
    """Where a part stands in a folder."""

    file: str
    first: int
    last: int
    """first, last: its lines, from 1, without what each part begins with."""

    def line(self, line: int) -> int:
        """The file's line of a line of the part."""
        return self.first + line - HEADER.count("\n") - 1


def file_of(module: str, area: str) -> str:
    """The file a template's text stands in. area: its folder, which begins with a number."""
    number = int(area[:2])
    if module == CORE and number < _BEFORE:
        return PREFLIGHT
    if module == CORE and number >= _AFTER:
        return FINISH
    return f"{1 + _ORDER.index(module)}_{module}.sql"


def object_of(part: str) -> tuple[str, str]:
    """The one object that a part of one database makes, and its kind; of other parts two empty words."""
    found = _NAMED.fullmatch(part)
    return (found[1], found[2]) if found else ("", "")


class Frame(NamedTuple):
    """What stands around the parts of a file."""

    head: str
    tail: str
    guard: str = ""
    """Before each part behind WHOLE."""


def assembled(
    frames: Mapping[str, Frame], files: Mapping[str, list[str]], parts: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Place]]:
    """The files by name, and where each part is. files: names of each one's parts, in order.

    Behind each batch that makes no module stands STOP: nothing of the file runs after its error. What is
    wrong with a module 9_finish sees.
    """
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    for file, names in files.items():
        frame = frames[file]
        text = frame.head
        for name in names:
            body = parts[name].removeprefix(HEADER)
            if object_of(name)[1] not in MODULES:
                body = _GO.sub("GO\n" + STOP, body)
            if file == FINISH and not WHOLE.match(name):
                text += frame.guard
            first = text.count("\n") + 1
            places[name] = Place(file, first, first + body.count("\n") - 1)
            text += body
        texts[file] = text + frame.tail
    return texts, places


def contents(places: Mapping[str, Place]) -> str:
    """The text of CONTENTS."""
    wide = max((len(place.file) for place in places.values()), default=0)
    return "".join(
        f"{place.file:{wide}} {place.first:5}-{place.last:<5} {name}\n"
        for name, place in places.items()
    )


def places_in(text: str) -> dict[str, Place]:
    """Where each part is. Raises ValueError for a line that says no such thing."""
    found = {}
    for line in text.splitlines():
        one = _LINE.fullmatch(line)
        if one is None:
            raise ValueError(f"{CONTENTS} has a line that names no part: {line!r}")
        found[one[4]] = Place(one[1], int(one[2]), int(one[3]))
    return found


def parts_in(files: Mapping[str, str]) -> dict[str, str]:
    """The parts of a folder's files, by name, in the order they run. Raises ValueError."""
    found = {}
    places = places_in(files.get(CONTENTS, ""))
    lines_of = {file: files.get(file, "").split("\n") for file in {p.file for p in places.values()}}
    for name, place in places.items():
        lines = lines_of[place.file]
        if place.last >= len(lines):
            raise ValueError(f"{place.file} ends before {name}, which {CONTENTS} says is in it")
        text = "\n".join(lines[place.first - 1 : place.last]) + "\n"
        found[name] = HEADER + text.replace(STOP, "")
    return found


def made(parts: Mapping[str, str], own: str) -> Iterator[tuple[str, bytes | None]]:
    """The tables, types and modules the parts make: name, and the digest of a module's text.

    own: the schema as it is quoted, with its point. The digest is of what follows the schema's name in
    the batch, blanks and line ends left out: tools write their own.
    """
    for name, text in parts.items():
        made_here, kind = object_of(name)
        if kind in ("table", "type"):
            yield made_here, None
        if kind not in MODULES:
            continue
        for batch in split_batches(text.removeprefix(HEADER)):
            if _HEAD.search(batch.sql):
                yield made_here, digest(batch.sql, own)


def digest(batch: str, own: str) -> bytes:
    """Eight bytes of a module's text, as 81_whole counts them."""
    text = re.sub(r"[ \t\r\n]", "", batch[batch.index(own) :])
    return hashlib.sha256(text.encode("utf-16-le")).digest()[:8]


def on_disk(files: Mapping[str, str]) -> dict[str, str]:
    """What a folder holds of all that is rendered: its files, not the parts they are made of."""
    return {name: text for name, text in files.items() if not PART.fullmatch(name)}

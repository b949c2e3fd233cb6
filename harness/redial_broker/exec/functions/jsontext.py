"""JSON text: parsed with the place of every value, so that answers are cut out of the text itself.

Paths: "JSON path expressions" page. Positions in error texts count from 0.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from redial_broker.engine.errors import SqlError

OBJECT, ARRAY, STRING, NUMBER, NULL, TRUE, FALSE = (
    "object",
    "array",
    "string",
    "number",
    "null",
    "true",
    "false",
)
MAX_NESTING = 128
"""Objects and arrays inside one another, and steps of a path (13606)."""

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_STEP = re.compile(r'\.\s*(?:"((?:[^"\\]|\\.)*)"|([^\W\d][\w$]*|\$[\w$]*))|\[\s*(\d+)\s*\]')
_MODE = re.compile(r"\s*(?:(append)\b\s*)?(?:(lax|strict)\b)?\s*(?:(append)\b)?\s*\$")
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_WORDS = {"t": TRUE, "f": FALSE, "n": NULL}


@dataclass(slots=True)
class Json:
    """One value."""

    kind: str
    start: int
    end: int
    """start, end: its place in the text."""
    members: list[tuple[str, Json]] = field(default_factory=list)
    """(key, value) of an object, items of an array have the key ""."""

    @property
    def scalar(self) -> bool:
        """Neither an object nor an array."""
        return self.kind not in {OBJECT, ARRAY}


def bad(text: str, at: int, state: int = 1) -> SqlError:
    """13609: the character the reader stopped at, a dot at the end."""
    return SqlError(13609, text[at] if at < len(text) else ".", at, state=state)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def blanks(self) -> None:
        self.at = cast("re.Match[str]", _BLANK.match(self.text, self.at)).end()

    def peek(self) -> str:
        self.blanks()
        return self.text[self.at : self.at + 1]

    def value(self) -> Json:
        char, start = self.peek(), self.at
        if char in {"{", "["}:
            self.depth += 1
            if self.depth > MAX_NESTING:
                raise SqlError(13606)
            found = self.object() if char == "{" else self.array()
            self.depth -= 1
            return found
        if char == '"':
            return Json(STRING, start, self.string())
        word = _WORDS.get(char)
        if word and self.text.startswith(word, start):
            self.at += len(word)
            return Json(word, start, self.at)
        match = _NUMBER.match(self.text, start)
        if match is None:
            raise bad(self.text, start)
        self.at = match.end()
        return Json(NUMBER, start, self.at)

    def string(self) -> int:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise bad(self.text, self._where_string_ends())
        self.at = match.end()
        return self.at

    def _where_string_ends(self) -> int:
        at = self.at + 1
        while at < len(self.text) and self.text[at] >= " " and self.text[at] != '"':
            if self.text[at] == "\\":
                if not re.match(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})', self.text[at : at + 6]):
                    return at + 1
                at += 1
            at += 1
        return at

    def expect(self, char: str) -> None:
        if self.peek() != char:
            raise bad(self.text, self.at)
        self.at += 1

    def object(self) -> Json:
        found = Json(OBJECT, self.at, 0)
        self.at += 1
        if self.peek() != "}":
            while True:
                if self.peek() != '"':
                    raise bad(self.text, self.at)
                start = self.at
                key = unquoted(self.text[start : self.string()])
                self.expect(":")
                found.members.append((key, self.value()))
                if self.peek() != ",":
                    break
                self.at += 1
        self.expect("}")
        found.end = self.at
        return found

    def array(self) -> Json:
        found = Json(ARRAY, self.at, 0)
        self.at += 1
        if self.peek() != "]":
            while True:
                found.members.append(("", self.value()))
                if self.peek() != ",":
                    break
                self.at += 1
        self.expect("]")
        found.end = self.at
        return found


@lru_cache(maxsize=64)
def parse(text: str) -> Json:
    """The value a text holds. Raises 13609 for what is no JSON, 13606 beyond 128 levels."""
    reader = _Reader(text)
    found = reader.value()
    if reader.peek():
        raise bad(text, reader.at)
    return found


def document(text: str, state: int = 1) -> Json:
    """The object or array a function works on; a scalar is no document (13609)."""
    try:
        found = parse(text)
    except SqlError as error:
        error.state = state
        raise
    if found.scalar:
        raise bad(text, found.start, state)
    return found


def unquoted(text: str) -> str:
    """The characters of a JSON string as written."""
    return text[1:-1] if "\\" not in text else json.loads(text)


def scalar_text(text: str, value: Json) -> str | None:
    """A scalar as SQL text, None for null."""
    if value.kind == NULL:
        return None
    raw = text[value.start : value.end]
    return unquoted(raw) if value.kind == STRING else raw


@dataclass(frozen=True, slots=True)
class Path:
    """A path: strict or lax, append (of JSON_MODIFY), keys and indexes."""

    strict: bool
    append: bool
    steps: tuple[str | int, ...]


@lru_cache(maxsize=512)
def parse_path(path: str, modify: bool = False) -> Path:
    """Read a path; 13607 when it is malformed. modify: ``append`` may stand in front."""
    head = _MODE.match(path)
    append = head is not None and bool(head[1] or head[3])
    if head is None or (append and not modify):
        at = len(path) - len(path.lstrip())
        raise SqlError(13607, path[at : at + 1] or ".", at)
    steps: list[str | int] = []
    at, text = head.end(), path.rstrip()
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            place = at + 1 if text[at] in ".[" else at
            raise SqlError(13607, text[place : place + 1] or ".", place)
        quoted, plain, index = match.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(json.loads(f'"{quoted}"') if quoted is not None else plain)
        at = match.end()
    if len(steps) > MAX_NESTING:
        raise SqlError(13606, state=4)
    return Path(head[2] == "strict", append, tuple(steps))


def step(value: Json, key: str | int) -> Json | None:
    """One step down, None when there is nothing. Of equal keys the first counts."""
    if isinstance(key, int):
        items = value.members if value.kind == ARRAY else []
        return items[key][1] if key < len(items) else None
    if value.kind != OBJECT:
        return None
    return next((held for name, held in value.members if name == key), None)


def walk(value: Json, steps: tuple[str | int, ...]) -> Json | None:
    """The value a path leads to, None when it leads nowhere."""
    found = value
    for key in steps:
        inner = step(found, key)
        if inner is None:
            return None
        found = inner
    return found


def json_string(text: str) -> str:
    """A JSON string as FOR JSON escapes it ("How FOR JSON escapes special characters")."""
    return (
        '"'
        + "".join(
            _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text
        )
        + '"'
    )

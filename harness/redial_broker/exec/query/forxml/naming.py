"""XML names in FOR XML: escaped in RAW and AUTO, refused elsewhere (F-222)."""

from __future__ import annotations

from redial_broker.engine.errors import SqlError


def _starts(char: str) -> bool:
    return char == "_" or char.isalpha()


def _continues(char: str) -> bool:
    return char in "_-.·:" or char.isalnum() or (not char.isascii() and char.isidentifier())


def encoded(name: str) -> str:
    """A column or table name as an XML name: every other character becomes _xHHHH_."""
    parts = []
    for place, char in enumerate(name):
        escape = char == "_" and name[place + 1 : place + 2] == "x"
        if not escape and (_starts(char) if place == 0 else _continues(char)):
            parts.append(char)
        elif ord(char) > 0xFFFF:
            parts.append(f"_x{ord(char):06X}_")
        else:
            parts.append(f"_x{ord(char):04X}_")
    return "".join(parts)


def check(name: str, what: str, known: set[str], whole: str | None = None) -> None:
    """Raise for what is no XML name: 6867, 6846 for an undeclared prefix, 6850 for a character.

    what: Column, Row or ROOT; whole: the alias a step belongs to; known: declared prefixes.
    """
    shown = whole if whole is not None else name
    prefix, colon, _ = name.partition(":")
    if name == "xmlns" or (colon and prefix == "xmlns"):
        raise SqlError(6867, aborts="scope")
    if colon and prefix not in known | {"xml"}:
        raise SqlError(
            6846, prefix, what.lower() if what != "ROOT" else what, shown, state=4, aborts="scope"
        )
    for place, char in enumerate(name):
        if not (_starts(char) if place == 0 else _continues(char)):
            raise SqlError(6850, what, shown, char, ord(char), aborts="scope")

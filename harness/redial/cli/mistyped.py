"""What invoke says of a command line that is wrong, with what was meant and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from invoke.exceptions import ParseError

from redial.cli.configs import meant

_UNKNOWN = re.compile(r"No idea what '(.*)' is!")
_NO_VALUE = re.compile(r"Flag <Argument: ([\w-]+).*> needed value")
_POSITIONAL = re.compile(r"did not receive required positional arguments: '(\w+)'")
_NO_NUMBER = re.compile(
    r"invalid literal for int\(\) with base 10: '(.*)'|could not convert .*: '(.*)'"
)


def explained(error: ParseError, commands: Iterable[str]) -> str:
    """Object, cause and next step of invoke's error."""
    name, flags = _where(error.context)
    help_ = f"redial {name} --help" if name else "redial --help"
    said = str(error)
    if found := _UNKNOWN.search(said):
        word = found[1]
        if not name and not word.startswith("-"):
            return _told(word, "is no command", f"{meant(word, commands)}redial --help lists them")
        known = flags if word.startswith("-") else ()
        what = "is no option" if word.startswith("-") else "is too much"
        return _told(f"{name or 'redial'}: {word}", what, f"{meant(word, known)}{help_}")
    if found := _NO_VALUE.search(said):
        return _told(f"{name or 'redial'}: {_typed(found[1])}", "wants a value", help_)
    if found := _POSITIONAL.search(said):
        word = found[1].upper()
        return _told(name, f"{word} is missing", f"redial {name} {word}; {help_} says more")
    return f"{said}\n  Next: {help_}"


def no_number(error: ValueError, arguments: list[str]) -> str | None:
    """The same for an option that wants a number and got none; None for another error."""
    found = _NO_NUMBER.search(str(error))
    if found is None:
        return None
    value = found[1] or found[2] or ""
    option = "a number"
    for before, word in zip(["", *arguments], arguments, strict=False):
        if word == value and before.startswith("-"):
            option = before
        elif word.startswith("-") and word.endswith(f"={value}"):
            option = word.partition("=")[0]
    name = "" if arguments[0].startswith("-") else f"{arguments[0]} "
    return _told(f"{option} {value!r}", "is no number", f"redial {name}--help")


def _typed(name: str) -> str:
    """An option as it is typed, of the name of a parameter: from_ is --from."""
    return f"--{name.strip('_').replace('_', '-')}"


def _where(context: Any) -> tuple[str, list[str]]:
    """Of which command, and the options it has."""
    return (getattr(context, "name", None) or ""), list(getattr(context, "flags", ()))


def _told(what: str, why: str, next: str) -> str:
    return f"{what}: {why}\n  Next: {next}"

"""What the keys of a conversation are like: read off ``sql/templates/keys``, one file for each.

A file is named by the word of ``conversation.key``. It begins with a comment of Jinja that is TOML:
the fields of ``Traits``. What follows are parts of T-SQL, for the templates (``redial.render.keys``).
Whatever asks which key it is asks here, for a trait; no other file compares the word.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from redial.paths import TEMPLATES

FOLDER = "keys"
"""Of the templates: a file for each key."""
BASES = "key_bases"
"""Of the templates: what several keys have in common. A key names one in ``base``."""
SUFFIX = ".inc.j2"
ROOT_BASE = "any"
"""The base of all that name none: what a key is like, and says, unless its own file says otherwise."""

_HEAD = re.compile(r"\{#\n(.*?)#\}\n", re.DOTALL)
_WORD = re.compile(r"[a-z][a-z0-9_]*")


class KeyFileError(ValueError):
    """A file of a key cannot be used. The text names file, rule and what is allowed."""


class Traits(BaseModel):
    """What a key is like: who shares a dialog, and how it is found."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    place: int = Field(ge=1)
    """Where it stands in lists. The first is what a configuration has that names none."""
    meaning: str = Field(min_length=1)
    """Who shares a dialog, in a few words, as audit.toml says it."""
    choose: str = Field(min_length=1)
    """Who waits for whom, and when to choose it: for docs/generated/keys.md."""
    base: str = ROOT_BASE
    """The file of ``key_bases`` whose traits and parts it has where it has none of its own."""
    has_rows: bool = False
    """A dialog is found through a row of SessionConversations, so it can be recycled."""
    slots: bool = False
    """The rows are there from deployment on, as many as ``pool.size``, and a sender takes any that is
    free; a row whose dialog is closed stays."""
    everlasting: bool = False
    """All send on one dialog, which the row of Everlasting proposes and the catalog confirms."""
    per_message: bool = False
    """Each message has a dialog of its own, which is closed with it."""
    named: bool = False
    """The caller names the key: ``@key`` of usp_Send, MessageKey of a batch."""
    shared: bool = False
    """Several sessions use one dialog, so one may wait for another."""
    article: bool = False
    """The article's own scripts, ``timer_strategy = article``, are for this key."""

    @property
    def row_of_one_key(self) -> bool:
        """Whether a row belongs to one key, which can be looked up and numbered."""
        return self.has_rows and not self.slots


def read(templates: Path = TEMPLATES) -> dict[str, Traits]:
    """Word -> traits of each key, in the order of ``place``. Raises KeyFileError."""
    found = {}
    for path in sorted((templates / FOLDER).glob(f"*{SUFFIX}")):
        word = path.name.removesuffix(SUFFIX)
        if not _WORD.fullmatch(word):
            raise KeyFileError(
                f"{FOLDER}/{path.name}: the name of the file is the word of conversation.key; "
                "allowed: a lower case letter, then a-z, 0-9 and _"
            )
        found[word] = _traits(templates, path)
    if not found:
        raise KeyFileError(
            f"{templates / FOLDER}: has no key; allowed: a file WORD{SUFFIX} for each"
        )
    places = [traits.place for traits in found.values()]
    for word, traits in found.items():
        if places.count(traits.place) > 1:
            raise KeyFileError(
                f"{FOLDER}/{word}{SUFFIX}: place: another key has {traits.place} too; "
                f"allowed: a number of its own, such as {max(places) + 10}"
            )
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def bases(templates: Path, base: str) -> list[str]:
    """A base and those below it, the nearest first. Raises KeyFileError for one that is not there."""
    found: list[str] = []
    while base not in found:
        found.append(base)
        base = _head(templates / BASES / f"{base}{SUFFIX}", templates).get("base", ROOT_BASE)
    return found


def _traits(templates: Path, path: Path) -> Traits:
    """Those of a file, with what its bases say where it says nothing."""
    own = _head(path, templates)
    data: dict[str, Any] = {}
    for base in reversed(bases(templates, own.get("base", ROOT_BASE))):
        data |= _head(templates / BASES / f"{base}{SUFFIX}", templates)
    shown = path.relative_to(templates)
    try:
        traits = Traits.model_validate({**data, **own, "base": own.get("base", ROOT_BASE)})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        allowed = ", ".join(Traits.model_fields)
        raise KeyFileError(f"{shown}: {problems}; allowed are the fields {allowed}") from error
    ways = [name for name in ("has_rows", "everlasting", "per_message") if getattr(traits, name)]
    if len(ways) > 1:
        raise KeyFileError(f"{shown}: {' and '.join(ways)}: allowed is one way to find a dialog")
    if traits.slots and not traits.has_rows:
        raise KeyFileError(f"{shown}: slots: are rows; allowed: only with has_rows = true")
    return traits


def _head(path: Path, templates: Path) -> dict[str, Any]:
    """The TOML a file begins with. Raises KeyFileError."""
    shown = path.relative_to(templates)
    if not path.is_file():
        there = ", ".join(
            sorted(p.name.removesuffix(SUFFIX) for p in path.parent.glob(f"*{SUFFIX}"))
        )
        raise KeyFileError(f"{shown}: there is no such base; allowed: {there}")
    head = _HEAD.match(path.read_text("utf-8"))
    if head is None:
        raise KeyFileError(f"{shown}: must begin with a comment of TOML, {{# in a line of its own")
    try:
        return tomllib.loads(head[1])
    except tomllib.TOMLDecodeError as error:
        raise KeyFileError(f"{shown}: its first comment is not TOML: {error}") from error


@cache
def every_key() -> dict[str, Traits]:
    """Those of the package's own templates: what there is to choose from."""
    return read()


def keys_with(trait: str) -> tuple[str, ...]:
    """Words of the keys that are so."""
    return tuple(word for word, traits in every_key().items() if getattr(traits, trait))

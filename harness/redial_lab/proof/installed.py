"""What a search installs, as a digest: the text it can reach, comments apart."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from sys import intern

from redial.config import Config
from redial.render import render
from redial.tsql import split_batches
from redial.tsql.ast.base import Source
from redial.tsql.lexer import tokenize

FILE = re.compile(r"(\d\d)_(?:\d\d_)?(\w+)\.(\w+)\.sql")
ENTRIES = frozenset(
    {
        "usp_Send",
        "usp_SenderActivation",
        "usp_TargetActivation",
        "usp_RetireIdle",
        "usp_SendMessage",
        "usp_SendShared",
        "usp_InitiatorQueueHandler",
        "usp_PurgeConversations",
        "usp_EndLeaked",
    }
)
"""What callers, queues and operators of a search begin with."""

ALWAYS = frozenset({"10", "40", "50", "60", "62", "75", "76", "83", "87"})
"""Numbers of the areas every search stands on: contract, queues, services, priorities, the hook, the
rows of a pool, activation."""


def essence(config: Config, mutant: str | None = None) -> str:
    """Digest of the T-SQL that can be reached from ``ENTRIES``: equal for configurations that run
    the same. A comment, a stamp, the number of an area or an object nobody calls does not count.
    """
    key = config.model_dump_json(by_alias=True), mutant
    if key not in _ESSENCES:
        _ESSENCES[key] = _essence(config, mutant)
    return _ESSENCES[key]


_ESSENCES: dict[tuple[str, str | None], str] = {}
"""What a process has worked out."""


def _essence(config: Config, mutant: str | None) -> str:
    texts = reached(config, mutant)
    found = hashlib.blake2b(digest_size=9)
    for file in sorted(texts, key=_object):
        found.update("\0".join([_object(file), *_words(texts[file])]).encode())
    return found.hexdigest()


def reached(config: Config, mutant: str | None = None) -> dict[str, str]:
    """The scripts of ``config`` that a search can reach from ``ENTRIES``: file -> text."""
    texts = render(config, mutant=mutant)
    named: dict[str, list[str]] = {}
    waiting = []
    for file in texts:
        parts = FILE.fullmatch(file)
        if parts is not None:
            named.setdefault(parts[2].lower(), []).append(file)
            if parts[1] in ALWAYS or parts[2] in ENTRIES:
                waiting.append(file)
    found: dict[str, str] = {}
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = texts[file]
            mentioned = {word.strip("[]").lower() for word in _words(texts[file])}
            waiting += [other for name in mentioned & named.keys() for other in named[name]]
    return found


def _object(file: str) -> str:
    """What a file makes, without the numbers that put it in its place."""
    return re.sub(r"^\d\d_(?:\d\d_)?", "", file)


@cache
def _words(text: str) -> list[str]:
    """The tokens of a script. Most scripts of most configurations are the same."""
    found = []
    for sql, _, _ in split_batches(text):
        tokens = tokenize(Source(sql))
        found += [intern(sql[start:end]) for start, end in zip(tokens.starts, tokens.ends)]
    return found

"""What a search installs, as a digest: the text it can reach, comments apart."""

from __future__ import annotations

import hashlib
import re

from harness.config import Config
from harness.render import render
from harness.tsql import split_batches
from harness.tsql.ast.base import Source
from harness.tsql.lexer import tokenize

FILE = re.compile(r"(\d\d)_(?:\d\d_)?(\w+)\.(\w+)\.sql")
ENTRIES = frozenset({"usp_Send", "usp_SenderActivation", "usp_TargetActivation", "usp_RetireIdle",
                     "usp_SendMessage", "usp_SendShared", "usp_InitiatorQueueHandler",
                     "usp_PurgeConversations", "usp_EndLeaked"})
"""What callers, queues and operators of a search begin with."""

ALWAYS = frozenset({"10", "40", "50", "60", "62", "75", "80"})
"""Areas every search stands on: contract, queues, services, activation, the rows of a pool."""


def essence(config: Config, mutant: str | None = None) -> str:
    """Digest of the T-SQL that can be reached from ``ENTRIES``: equal for configurations that run
    the same. A comment, a stamp or an object nobody calls does not count.
    """
    words: dict[str, list[str]] = {}
    area: dict[str, str] = {}
    named: dict[str, list[str]] = {}
    for file, text in sorted(render(config, mutant=mutant).items()):
        found = FILE.fullmatch(file)
        if found is not None:
            words[file] = _words(text)
            area[file] = found[1]
            named.setdefault(found[2].lower(), []).append(file)
    waiting = [file for file in words if area[file] in ALWAYS]
    waiting += [file for name in ENTRIES for file in named.get(name.lower(), ())]
    reached: set[str] = set()
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            mentioned = {word.strip("[]").lower() for word in words[file]}
            waiting += [other for name in mentioned & named.keys() for other in named[name]]
    found = hashlib.blake2b(digest_size=9)
    for file in sorted(reached):
        found.update("\0".join([file, *words[file]]).encode())
    return found.hexdigest()


def _words(text: str) -> list[str]:
    """The tokens of a script."""
    found = []
    for sql, _, _ in split_batches(text):
        tokens = tokenize(Source(sql))
        found += [sql[start:end] for start, end in zip(tokens.starts, tokens.ends)]
    return found

"""Makes a mess of a script without changing what it says: other blanks, other capitals."""

from __future__ import annotations

import random

from redial.tsql import split_batches
from redial.tsql.ast import Source
from redial.tsql.lexer import END, KEYWORD, tokenize

BLANKS = (" ", "  ", "\n", "\n\t", "\t", "   \n  ")


def untidied(sql: str, seed: int) -> str:
    """The script with every blank between tokens and the case of every keyword drawn anew; comments
    and literals stay."""
    draw = random.Random(seed)
    return "".join(f"{_batch(batch.sql, draw)}\nGO\n" for batch in split_batches(sql))


def _batch(sql: str, draw: random.Random) -> str:
    tokens = tokenize(Source(sql, 1))
    out, at = [], 0
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if kind == END:
            break
        gap, text = sql[at:start], sql[start:end]
        out.append(draw.choice(BLANKS) if gap and gap.isspace() else gap)
        if kind == KEYWORD:
            text = draw.choice((text.lower(), text.upper(), text.capitalize()))
        out.append(text)
        at = end
    return "".join([*out, sql[at:].rstrip()])

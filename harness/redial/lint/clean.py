"""Templates found clean before, which are not looked at again while nothing about them changes.

sqlfluff needs half a second for a template. What it says of one follows from the template, the
parts it includes, the configuration, the package's own code, and sqlfluff itself: the digest of all
these is kept in ``var/lint`` when it had nothing to say. Findings are never kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, meta

from redial.paths import CONFIGS, PACKAGE, ROOT, SQL, TEMPLATES

KEPT = ROOT / "var" / "lint" / "clean"
"""A digest a line. It may be deleted at any time: everything is looked at again."""
ROOM = 2000
"""Digests kept: a dozen times the templates there are."""


def digest(config: str, path: Path) -> str:
    """Of all that sqlfluff's answer on a template follows from. config: its name."""
    parts = [_common(), str(path).encode(), (CONFIGS / f"{config}.toml").read_bytes()]
    parts += [found.read_bytes() for found in _with_parts(path)]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


@cache
def _common() -> bytes:
    """What is the same for every template: what renders it, and what looks at it."""
    code = sorted(PACKAGE.rglob("*.py"))
    names = "\n".join(str(path.relative_to(TEMPLATES)) for path in sorted(TEMPLATES.glob("*/*")))
    texts = [file.read_bytes() for file in (*code, SQL / ".sqlfluff")]
    return b"\0".join([version("sqlfluff").encode(), names.encode(), *texts])


def _with_parts(path: Path) -> list[Path]:
    """A template and what it includes or imports, theirs too."""
    found, left = [], [path]
    syntax = Environment()
    while left:
        one = left.pop()
        if one not in found:
            found.append(one)
            names = meta.find_referenced_templates(syntax.parse(one.read_text(encoding="utf-8")))
            # A name put together when it is rendered could be any part's.
            parts = [[TEMPLATES / name] if name else _every_part() for name in names]
            left += [part for group in parts for part in group]
    return sorted(found)


def _every_part() -> list[Path]:
    return sorted(TEMPLATES.rglob("*.inc.j2"))


def known() -> list[str]:
    """Digests kept, the last ones first; none where there is no such file."""
    try:
        return KEPT.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def keep(digests: Iterable[str], before: Iterable[str]) -> None:
    """These, and of those before as many as there is room for.

    A folder that cannot be written to only costs the time of the next look.
    """
    lines = list(dict.fromkeys([*digests, *before]))[:ROOM]
    with suppress(OSError):
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        fresh = KEPT.with_suffix(".new")
        fresh.write_text("".join(f"{one}\n" for one in lines), encoding="ascii")
        fresh.replace(KEPT)

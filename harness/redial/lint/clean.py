"""Templates found clean before, which are not looked at again while nothing about them changes.

sqlfluff needs half a second for a template. What it says of one follows from the template, the
parts it includes, the configuration, the package's own code, and sqlfluff itself: the digest of all
these is kept in ``var/lint`` when it had nothing to say. Findings are never kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, meta

from redial.paths import CONFIGS, PACKAGE, ROOT, SQL, TEMPLATES, template_folders

KEPT = ROOT / "var" / "lint" / "clean"
"""A digest a line. It may be deleted at any time: everything is looked at again."""
ROOM = 2000
"""Digests kept: a dozen times the templates there are."""


def digest(config: str, path: Path) -> str:
    """Of all that sqlfluff's answer on a template follows from. config: its name."""
    parts = [str(path).encode(), (CONFIGS / f"{config}.toml").read_bytes(), *with_parts(path)]
    digests = [_common(), *(_sha(part) for part in parts)]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _sha(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()


@cache
def _common() -> bytes:
    """Digest of what is the same for every template: what renders it, and what looks at it."""
    code = sorted(PACKAGE.rglob("*.py"))
    names = "\n".join(str(path.relative_to(TEMPLATES)) for path in sorted(TEMPLATES.rglob("*.j2")))
    texts = [file.read_bytes() for file in (*code, SQL / ".sqlfluff")]
    return _sha(b"\0".join([version("sqlfluff").encode(), names.encode(), *texts]))


def digest_of_text(text: str) -> str:
    """Of a text that is looked at as it is, and of what looks at it."""
    return hashlib.sha256(_common() + _sha(text.encode())).hexdigest()


def with_parts(path: Path) -> list[bytes]:
    """The texts of a template and of what it includes or imports, theirs too, by path."""
    found: dict[Path, bytes] = {}
    left = [path]
    while left:
        one = left.pop()
        if one not in found:
            found[one] = one.read_bytes()
            # A name put together when it is rendered could be any part's; so could a part of a key.
            parts = [[_found(name)] if name else _every_part() for name in _named(found[one])]
            if b"per_key." in found[one]:
                parts.append(_every_part())
            left += [part for group in parts for part in group]
    return [found[one] for one in sorted(found)]


@lru_cache(maxsize=ROOM)
def _named(text: bytes) -> tuple[str | None, ...]:
    """The templates that a text includes or imports; None: one whose name is put together."""
    return tuple(meta.find_referenced_templates(Environment().parse(text.decode("utf-8"))))


def _found(name: str) -> Path:
    """The file of a template that is named as templates name it: without its module."""
    folders = template_folders(TEMPLATES)
    return next((one / name for one in folders if (one / name).is_file()), TEMPLATES / name)


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

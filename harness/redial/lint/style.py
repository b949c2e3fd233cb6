"""Style of the templates, by sqlfluff with our plugin; and mending it without changing meaning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.templaters import TemplatedFile

from redial.config.keys import FOLDER, SUFFIX
from redial.lint import clean, plugin
from redial.lint.by_key import Rendered
from redial.paths import SQL, TEMPLATES
from redial.tsql import TsqlSyntaxError, parse_script
from redial.tsql.ast import structure

FIXABLE = "layout,CP01,CP03,CP04"
"""What ``fix`` may touch: rules that change how a text looks. Others have changed meaning: CP05,
types, writes [audit].[MessageBatch] in lower case, which a database may take for another name."""


Wanted = tuple[str, Path] | Rendered
"""What is looked at: a template as a configuration, named, renders it, or a text as it is."""


@dataclass(frozen=True, slots=True)
class StyleFinding:
    """One of sqlfluff's."""

    path: Path
    """The template; the key's file where a text rendered with it was looked at."""
    line: int
    column: int
    """line, column: of the template, 1-based; of the rendered text, which ``text`` names then."""
    code: str
    text: str


class FixRefused(Exception):
    """Mending would have changed what a file means; nothing was written. Names the file."""


def linter(config: str, rules: str | None = None) -> Linter:
    """sqlfluff, set up by ``sql/.sqlfluff`` for one of our configurations."""
    plugin.register()
    overrides: dict[str, Any] = {} if rules is None else {"rules": rules}
    settings = FluffConfig.from_path(str(SQL), overrides=overrides)
    settings.set_value(["templater", "redial", "config"], config)
    return Linter(config=settings)


def templates() -> list[Path]:
    """Every template, in order."""
    return sorted(TEMPLATES.rglob("*.sql.j2"))


def lint_templates(config: str, paths: Sequence[Path]) -> list[StyleFinding]:
    """Findings of those templates as one configuration, named, renders them."""
    return [finding for path in paths for finding in _looked_at(config, path)]


def lint_changed(
    wanted: Sequence[Wanted], workers: int | None = None
) -> tuple[list[StyleFinding], int]:
    """(findings, how many had to be looked at).

    What was clean before, and is what it was, is not looked at (``redial.lint.clean``). workers:
    processes; by default one a processor, as a template takes half a second.
    """
    digests = {_digest(one): one for one in wanted}
    before = dict.fromkeys(clean.known())
    left = {digest: one for digest, one in digests.items() if digest not in before}
    processes = min(workers or os.cpu_count() or 1, len(left))
    if processes > 1:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(_look, left.values()))
    else:
        found = [_look(one) for one in left.values()]
    faulty = {digest for digest, findings in zip(left, found) if findings}
    clean.keep(digests.keys() - faulty, before)
    return [finding for findings in found for finding in findings], len(left)


def _digest(wanted: Wanted) -> str:
    if isinstance(wanted, Rendered):
        return clean.digest_of_text(wanted.text)
    return clean.digest(*wanted)


def _look(wanted: Wanted) -> list[StyleFinding]:
    return lint_rendered(wanted) if isinstance(wanted, Rendered) else _looked_at(*wanted)


def lint_rendered(one: Rendered) -> list[StyleFinding]:
    """Findings of a text, but of the case of a type's own name: CP05 takes it for a type's keyword."""
    lines = one.text.split("\n")
    return [
        StyleFinding(
            TEMPLATES / FOLDER / f"{one.key}{SUFFIX}",
            found.line_no,
            found.line_pos,
            found.rule_code(),
            f"{found.desc()} (of {one.name} as this key renders it)",
        )
        for found in _plain_linter().lint_string(one.text, fname=one.name).get_violations()
        if found.rule_code() != "CP05" or lines[found.line_no - 1][found.line_pos - 1] != "["
    ]


@lru_cache
def _plain_linter() -> Linter:
    """For what is no template."""
    plugin.register()
    return Linter(config=FluffConfig.from_path(str(SQL), overrides={"templater": "raw"}))


def _looked_at(config: str, path: Path) -> list[StyleFinding]:
    """Findings, but of the order of a health query's columns: it is told, as an INSERT's is."""
    linted = _kept_linter(config).lint_string(path.read_text(encoding="utf-8"), fname=str(path))
    return [
        StyleFinding(path, one.line_no, one.line_pos, one.rule_code(), one.desc())
        for one in linted.get_violations()
        if not (one.rule_code() == "ST06" and path.parent.name == "findings")
    ]


@lru_cache
def _kept_linter(config: str) -> Linter:
    """One a process: it takes a moment to make."""
    return linter(config)


def mended(text: str, name: str, using: Linter) -> str:
    """The text with its layout and capitals put right. Raises FixRefused.

    The trees before and after must be equal: sqlfluff is a style checker and has rewritten queries.
    """
    linted = using.lint_string(text, fname=name, fix=True)
    if linted.templated_file is None:
        raise FixRefused(f"{name}: it cannot be rendered; invoke render says why")
    better, _ = linted.fix_string()
    if better != text and not same_meaning(linted.templated_file, better, name, using):
        raise FixRefused(f"{name}: the mended text would mean something else; mend it by hand")
    return better


def rendered(template: str, name: str, using: Linter) -> str:
    """A template's text as the configuration renders it. Raises FixRefused."""
    found = _rendered(template, name, using)
    if found is None:
        raise FixRefused(f"{name}: it cannot be rendered")
    return found.templated_str


def _rendered(template: str, name: str, using: Linter) -> TemplatedFile | None:
    """sqlfluff's rendering of a template, nothing parsed; None when it cannot be rendered."""
    variants = using.render_string(template, name, using.config, "utf-8").templated_variants
    return variants[0] if variants else None


def same_meaning(before: TemplatedFile | None, template: str, name: str, using: Linter) -> bool:
    """Whether a mended template still renders to the same statements."""
    after = _rendered(template, name, using)
    if before is None or after is None:
        return False
    try:
        return _trees(before.templated_str) == _trees(after.templated_str)
    except TsqlSyntaxError:
        return False  # what our parser cannot read cannot be proven


def _trees(sql: str) -> list[Any]:
    return [_folded(structure(batch)) for batch in parse_script(sql)]


def _folded(tree: Any) -> Any:
    """A tree in which the case of built-in functions is gone: the server finds those in any. Names
    of somebody's own keep theirs, a database may tell them apart."""
    if not isinstance(tree, tuple):
        return tree
    if len(tree) > 1 and tree[0] == "FunctionCall":
        name = tree[1]
        if name[0] == "ObjectName" and len(name[1]) == 1:
            tree = (tree[0], ("ObjectName", (name[1][0].lower(),)), *tree[2:])
    return tuple(_folded(part) for part in tree)

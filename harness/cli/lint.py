"""``invoke lint``: templates by style, rendered files by rules, our parser and Microsoft's."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.cli.configs import load_named, names
from harness.cli.errors import UserError, command
from harness.lint.files import lint_file
from harness.lint.rules import RULES
from harness.render.renderer import SQL

ROOT = SQL.parent
ORACLE = ROOT / "tools" / "tsql_oracle.py"
Row = tuple[str, int, int, str, str]


@command
def lint(paths: list[str], config: str | None = None, fix: bool = False) -> int:
    """Lint the given files by rules, or the package itself; 1 when anything was found.

    config: only this configuration's rendering. fix: put the templates' layout and capitals right
    first, where the meaning provably stays.
    """
    console = Console()
    if paths:
        rows = [row for path in _files(paths) for row in _rules(path)]
    else:
        if find_spec("sqlfluff") is None:
            raise UserError("invoke lint", "sqlfluff is not installed", "pip install '.[lint]'")
        rows = _package(console, [config] if config else names(), fix)
    _show(console, rows)
    return 1 if rows else 0


def _files(paths: list[str]) -> list[Path]:
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise UserError(name, "there is no such file or directory", "invoke lint --help")
        found += sorted(path.rglob("*.sql")) if path.is_dir() else [path]
    return found


def _rules(path: Path) -> list[Row]:
    return [(_shown(path), one.line, one.column, one.code, one.text) for one in lint_file(path)]


def _package(console: Console, configs: list[str], fix: bool) -> list[Row]:
    from harness.lint.style import lint_templates

    rows: list[Row] = []
    for name in configs:
        load_named(name)
        if fix:
            _fix(console, name)
        with console.status(f"{name}: style of the templates"):
            rows += [(_shown(one.path), one.line, one.column, one.code, one.text)
                     for one in lint_templates(name)]
        rendered = sorted((SQL / "generated" / name).glob("*.sql"))
        rows += [row for path in rendered for row in _rules(path)]
        rows += _oracle(console, rendered)
    return rows


def _fix(console: Console, config: str) -> None:
    from harness.lint.style import FIXABLE, FixRefused, linter, mended, templates

    using = linter(config, FIXABLE)
    for path in templates():
        text = path.read_text(encoding="utf-8")
        try:
            better = mended(text, str(path), using)
        except FixRefused as error:
            raise UserError(_shown(path), str(error), "look at what it would change: sqlfluff fix"
                            ) from error
        if better != text:
            path.write_text(better, encoding="utf-8")
            console.print(f"mended {_shown(path)}")


def _oracle(console: Console, paths: list[Path]) -> list[Row]:
    """What Microsoft's parser says; nothing, said so, where it cannot be had."""
    done = subprocess.run([sys.executable, str(ORACLE), *map(str, paths)], capture_output=True,
                          text=True, check=False)  # fmt: skip
    if done.returncode == 2:
        console.print("Microsoft's parser could not be run here: only ours has looked")
        return []
    return [(_shown(paths[0].parent), 0, 0, "oracle", line)
            for line in done.stdout.splitlines() if line] if done.returncode else []


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


def _show(console: Console, rows: list[Row]) -> None:
    if not rows:
        console.print("nothing found")
        return
    table = Table(title_justify="left")
    for column in ("file", "line", "column", "code", "finding"):
        table.add_column(column, overflow="fold")
    for path, line, column, code, text in rows:
        table.add_row(path, str(line), str(column), code, text)
    console.print(table)
    for code in sorted({row[3] for row in rows} & RULES.keys()):
        console.print(f"{code} {RULES[code].why} Instead: {RULES[code].instead}", highlight=False)

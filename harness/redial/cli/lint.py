"""``invoke lint``: templates by style, rendered files by rules, our parser and Microsoft's."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from redial.cli.configs import chosen, load_named
from redial.cli.errors import UserError, command
from redial.lint.files import lint_file
from redial.lint.oracle import OracleAbsent, findings, normal_form
from redial.lint.rules import RULES
from redial.paths import CLONE
from redial.project import ProjectMissing, project
from redial.render.renderer import template_files

Row = tuple[str, int, int, str, str]


@command
def lint(paths: list[str], config: str | None = None, fix: bool = False) -> int:
    """Lint the given files by rules, or what the project has rendered; 1 when anything was found.

    config: only this configuration's rendering. fix: put the templates' layout and capitals right
    first, where the meaning provably stays. The templates are ours, so only a clone looks at them.
    """
    console = Console()
    if paths:
        rows = [row for path in _files(paths) for row in _rules(path)]
    else:
        configs = chosen(config)
        rows = [row for name in configs for row in _rendered(console, name)]
        if project().root == CLONE:
            rows += _templates(console, configs, fix)
        else:
            console.print("style of templates: not looked at, they are Redial's own")
    _show(console, rows)
    return 1 if rows else 0


def _files(paths: list[str]) -> list[Path]:
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise UserError(name, "there is no such file or directory", "redial lint --help")
        found += sorted(path.rglob("*.sql")) if path.is_dir() else [path]
    return found


def _rules(path: Path) -> list[Row]:
    return [(_shown(path), one.line, one.column, one.code, one.text) for one in lint_file(path)]


def _rendered(console: Console, config: str) -> list[Row]:
    """A configuration's rendered files by rules and by Microsoft's parser."""
    load_named(config)
    rendered = sorted((project().generated / config).rglob("*.sql"))
    if not rendered:
        raise UserError(
            f"sql/generated/{config}", "nothing is rendered there", f"redial render -c {config}"
        )
    return [row for path in rendered for row in _rules(path)] + _oracle(console, rendered)


def _templates(console: Console, configs: list[str], fix: bool) -> list[Row]:
    """Each template once, by style, as a configuration that installs it renders it; and what asks for
    the parts of keys, with each."""
    from redial.lint.by_key import rendered_by_key
    from redial.lint.style import Wanted, lint_changed, templates

    wanted: list[Wanted] = []
    left = templates()
    for name in configs:
        installed = set(template_files(load_named(name)))
        mine = [path for path in left if path in installed or name == configs[-1]]
        left = [path for path in left if path not in mine]
        if fix:
            _fix(console, name, mine)
        wanted += [(name, path) for path in mine]
    by_key = rendered_by_key()
    what = f"style of {len(wanted)} templates and {len(by_key)} texts that differ by key"
    with console.status(what):
        found, looked_at = lint_changed([*wanted, *by_key])
    console.print(
        f"{what}: {looked_at} looked at, the others are what they were when they were found clean",
        highlight=False,
    )
    return [(_shown(one.path), one.line, one.column, one.code, one.text) for one in found]


def _fix(console: Console, config: str, paths: list[Path]) -> None:
    """Mend, once both parsers read the same in what was and in what will be."""
    from redial.lint.style import FIXABLE, FixRefused, linter, mended, rendered

    using = linter(config, FIXABLE)
    changed: list[tuple[Path, str, str]] = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            better = mended(text, str(path), using)
        except FixRefused as error:
            raise UserError(
                _shown(path), str(error), "look at what it would change: sqlfluff fix"
            ) from error
        if better != text:
            changed.append((path, text, better))
    for path, text, better in changed:
        try:
            before, after = (normal_form(rendered(one, str(path), using)) for one in (text, better))
        except OracleAbsent as error:
            console.print(f"only our parser has compared before and after: {error}", markup=False)
            before = after = ""
        if before != after:
            raise UserError(
                _shown(path),
                "Microsoft's parser reads something else in it once it "
                "is mended; it was not written",
                "mend it by hand",
            )
        path.write_text(better, encoding="utf-8")
        console.print(f"mended {_shown(path)}")


def _oracle(console: Console, paths: list[Path]) -> list[Row]:
    """What Microsoft's parser says; nothing, said so and why, where it cannot be run."""
    try:
        return [(_shown(paths[0].parent), 0, 0, "oracle", line) for line in findings(paths)]
    except OracleAbsent as error:
        console.print(
            f"Microsoft's parser could not be run, only ours has looked: {error}", markup=False
        )
        return []


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(project().root))
    except (ValueError, ProjectMissing):
        return str(path)


def _show(console: Console, rows: list[Row]) -> None:
    if not rows:
        console.print("nothing found")
        return
    table = Table(title_justify="left")
    for heading in ("file", "line", "column", "code", "finding"):
        table.add_column(heading, overflow="fold")
    for path, line, column, code, text in rows:
        table.add_row(path, str(line), str(column), code, text)
    console.print(table)
    for code in sorted({row[3] for row in rows} & RULES.keys()):
        console.print(f"{code} {RULES[code].why} Instead: {RULES[code].instead}", highlight=False)

"""``invoke check``: the house rules, each by the tool that knows it."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass

from rich.console import Console

from redial.cli.errors import command
from redial.paths import ROOT
from redial_lab.commands import clone

INVOKE = (sys.executable, "-m", "invoke")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
CODESPELL = (sys.executable, "-m", "codespell_lib", *PAGES)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the house."""

    title: str
    """What holds when it is green."""
    command: tuple[str, ...]
    """Ends with status 0 when it holds; what it prints is shown when it does not."""
    mend: str
    """The next step when it is red."""
    slow: bool = False
    """Takes longer than some seconds; left out by ``--fast``."""


RULES = (
    Rule(
        "Python: mistakes and style",
        (sys.executable, "-m", "ruff", "check", "-q", "."),
        "ruff check --fix .",
    ),
    Rule(
        "Python: layout",
        (sys.executable, "-m", "ruff", "format", "-q", "--check", "."),
        "ruff format .",
    ),
    Rule(
        "spelling of pages, code and T-SQL; not of tests",
        (*CODESPELL, "docs", "harness", "sql", "tools", "tasks.py", "pyproject.toml"),
        "correct the word, or name it in [tool.codespell] of pyproject.toml",
    ),
    Rule(
        "the pages make a site without a dead link",
        (sys.executable, "-m", "mkdocs", "build"),
        "correct the link, or name the new page in mkdocs.yml",
    ),
    Rule(
        "types, strictly, of all four packages",
        (sys.executable, "-m", "mypy"),
        "give it the right type",
    ),
    Rule(
        "arrows between rooms go one way",
        (
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports; "
            "raise SystemExit(lint_imports(no_cache=True))",
        ),
        "turn the import around; pyproject.toml says which arrows there are",
    ),
    Rule(
        "sql/generated is what the templates render",
        (*INVOKE, "render", "--check"),
        "invoke render",
    ),
    Rule(
        "generated pages are up to date", (*INVOKE, "pages", "--check"), "invoke pages", slow=True
    ),
    Rule(
        "T-SQL: style, our rules, Microsoft's parser",
        (*INVOKE, "lint"),
        "invoke lint --fix, or what it says",
        slow=True,
    ),
)


@command
def check(fast: bool = False) -> int:
    """Try every rule and tell each; 1 when one does not hold.

    fast: only those that take some seconds. What was left out is named.
    """
    clone("redial check")
    console = Console()
    broken = 0
    for rule in RULES:
        if fast and rule.slow:
            console.print(f"not looked at  {rule.title} (--fast)", highlight=False)
            continue
        began = time.monotonic()
        done = subprocess.run(rule.command, cwd=ROOT, capture_output=True, text=True, check=False)
        taken = f"{time.monotonic() - began:.1f} s"
        if done.returncode == 0:
            console.print(f"[green]holds[/]          {rule.title}, {taken}", highlight=False)
            continue
        broken += 1
        console.print((done.stdout + done.stderr).rstrip(), markup=False, highlight=False)
        console.print(f"[red]BROKEN[/]         {rule.title}, {taken}", highlight=False)
        console.print(f"  Next: {rule.mend}", highlight=False, markup=False)
    return 1 if broken else 0

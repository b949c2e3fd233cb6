"""``invoke pages``: make every generated page, or say which are stale."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redial.cli.errors import UserError, command
from redial.paths import ROOT
from redial_lab.commands import clone

UP_TO_DATE = "up to date"
SHOWN = 40
"""Lines of a difference that are shown."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file made from the sources alone."""

    path: str
    """From the checkout's root."""
    text: Callable[[], str]
    """Makes it; raises UserError when the sources contradict themselves."""
    right: Callable[[], str] = lambda: UP_TO_DATE
    """What is said of it when it is as its sources make it: of kept results, how old they are."""


def _coverage() -> str:
    from redial_lab.pages.coverage.page import text

    return text()


def _cost() -> str:
    from redial_lab.bench.budget import text

    return text()


def _features() -> str:
    from redial_lab.pages.features.page import page, proofs, unproven, variants_line

    found = proofs()
    missing = unproven(found)
    if missing:
        raise UserError(
            "docs/generated/features.md",
            f"no test proves: {'; '.join(missing)}",
            "name the row in a test",
        )
    return page(found, variants_line())


def _findings() -> str:
    from redial_lab.pages.findings import page

    return page()


def _lint() -> str:
    from redial.lint.page import page

    return page()


def _mutants() -> str:
    from redial_lab.proof.mutants_command import text_now

    return text_now()


def _mutants_ages() -> str:
    from redial_lab.proof.kept_searches import Remembered
    from redial_lab.proof.mutants_command import ages, all_names

    return ages(Remembered(), all_names()).verdict()


def _matrix_ages() -> str:
    from redial_lab.proof.matrix_kept import ages, kept

    return ages(kept()).verdict()


def _matrix() -> str:
    from redial_lab.proof.matrix_kept import kept
    from redial_lab.proof.matrix_page import text

    return text(kept())


def _keys() -> str:
    from redial_lab.pages.keys import page

    return page()


def _open_facts() -> str:
    from redial_lab.pages.facts.page import page

    return page()


def _facts() -> str:
    from redial_lab.pages.facts.page import sheet

    return sheet()


def _audit_toml() -> str:
    from redial_lab.pages.keys import audit_toml

    return audit_toml()


PAGES = (
    Page("docs/generated/answer-matrix.md", _matrix, _matrix_ages),
    Page("docs/generated/cost.md", _cost),
    Page("docs/generated/coverage.md", _coverage),
    Page("docs/generated/features.md", _features),
    Page("docs/generated/findings.md", _findings),
    Page("docs/generated/keys.md", _keys),
    Page("docs/generated/lint.md", _lint),
    Page("docs/generated/mutants.md", _mutants, _mutants_ages),
    Page("docs/generated/open-facts.md", _open_facts),
    Page("docs/facts.md", _facts),
    Page("sql/configs/audit.toml", _audit_toml),
)

ELSEWHERE = {
    "docs/generated/drivers.md": "python -m tests.broker.drivers.page, with every driver installed",
    "docs/generated/left-out.md": "python -m tests.left_out, which collects the suite",
    "docs/generated/parser-agreement.md": "tools/oracle_agreement.py, with Microsoft's parser and a corpus",
    "docs/generated/public-scripts.md": "tools/run_public_scripts.py, with other people's repositories",
    "tests/product/sql/oracle_verdicts.txt": "tools/oracle_verdicts.py, with Microsoft's parser",
}
"""Generated files this command can't make or judge, and what makes them."""


@command
def pages(check: bool = False) -> int:
    """Write each page that differs; with ``check`` show the differences: 1 when one is stale."""
    clone("redial pages")
    right = [settle(page.path, ROOT / page.path, page.text(), check, page.right) for page in PAGES]
    for name, how in ELSEWHERE.items():
        print(f"{name}: not looked at; made by {how}")
    if check and not all(right):
        print("  Next: invoke pages, and commit what it changes")
    return 1 if check and not all(right) else 0


def settle(
    name: str,
    path: Path,
    made: str,
    check: bool,
    right: Callable[[], str] = lambda: UP_TO_DATE,
) -> bool:
    """Write a page that differs from what it is made of now, and say so; whether it was right.

    name: as the user knows it. check: write nothing, show the difference. right: what is said of a
    page that does not differ.
    """
    old = path.read_text("utf-8") if path.exists() else ""
    if made == old:
        print(f"{name}: {right()}")
        return True
    if check:
        print(_difference(old, made))
        print(f"{name}: stale")
        return False
    path.write_text(made, "utf-8")
    print(f"{name}: written, {made.count(chr(10))} lines")
    return False


def _difference(old: str, made: str) -> str:
    lines = list(
        difflib.unified_diff(
            old.splitlines(), made.splitlines(), "committed", "now", lineterm="", n=0
        )
    )
    more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return "\n".join(lines[:SHOWN] + more)

"""Whoever reads *exhausted* reads beside it what no search covers: on every page, in every report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import ROOT
from redial_lab.explore import Client, Limits, Scenario, search
from redial_lab.explore.search import NOT_COVERED
from redial_lab.explore.search_report import report
from tests.lab.explore.tables import add, tables

WORD = re.compile(r"\bexhaust(?:s|ed|ive|ively)?\b", re.IGNORECASE)
SERVERS = "maximum recursion %d has been exhausted"
"""A message of the server that has the word."""
GLOSSARY = "docs/glossary.md"
LINK = re.compile(r"(?:^|[(/])glossary\.md#exhausted\)")
KINDS = (".md", ".ipynb", ".txt", ".html", ".sql")
"""Of files people read."""


def pages() -> list[str]:
    """What people read: pages by hand and by command, traces, and the texts beside the T-SQL."""
    found = list(ROOT.glob("*.md"))
    for folder in ("docs", "evidence", "sql", "tools"):
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def plain(text: str) -> str:
    """Without line ends and HTML's spelling of quotes."""
    return " ".join(text.replace("&#x27;", "'").split())


def silent(name: str, text: str) -> list[str]:
    """Headings of the parts of a page that say the word, and neither say nor link what it leaves
    out. A part: from one heading of the second level to the next; other files are one part."""
    parts = re.split(r"^(?=## )", text, flags=re.M) if name.endswith(".md") else [text]
    return [
        f"{name}: {part.strip().splitlines()[0][:60]}"
        for part in parts
        if WORD.search(part.replace(SERVERS, ""))
        and plain(NOT_COVERED) not in plain(part)
        and (name == GLOSSARY or not LINK.search(part))
    ]


def test_every_page_that_says_exhausted_says_what_it_does_not_cover():
    """Next, where it fails: link glossary.md#exhausted beside the word, or say NOT_COVERED."""
    found = [line for name in pages() for line in silent(name, _read(ROOT / name))]
    assert found == [], "\n".join(found)


def test_the_glossary_the_explorer_s_page_and_both_pages_of_results_say_it_in_words():
    for name in (
        GLOSSARY,
        "docs/explorer.md",
        "docs/generated/answer-matrix.md",
        "docs/generated/mutants.md",
    ):
        assert plain(NOT_COVERED) in plain(_read(ROOT / name)), name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n\nIt was exhausted.\n", ["new.md: # A"]),
        ("# A\n\nAn exhaustive search.\n", ["new.md: # A"]),
        ("# A\n\nIt was [exhausted](docs/glossary.md#exhausted).\n", []),
        (f"# A\n\nExhausted. {NOT_COVERED}\n", []),
        ("# A\n[exhausted](glossary.md#exhausted)\n## B\nExhausted.\n", ["new.md: ## B"]),
        ("# A\n\nis_exhausted; The maximum recursion %d has been exhausted before.\n", []),
    ],
)
def test_a_new_page_cannot_forget(text, found):
    assert silent("new.md", text) == found


@pytest.mark.parametrize("limits", [Limits(), Limits(transitions=1)])
def test_every_report_says_it(limits):
    clients = (Client("T1", (add("a"),), "d"), Client("T2", (add("b"),), "d"))
    made = Scenario("tables", lambda: tables("ab"), clients)
    assert f"not covered  {NOT_COVERED}" in report(made, search(made, limits))


def _read(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")

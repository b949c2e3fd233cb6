"""Links of the pages at the root, and links into evidence/, lead to files and headings that are there.

Links between the pages of docs/, and to their headings, are looked at when the site is made
(``invoke check``): mkdocs is strict.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import ROOT

ROOTS = sorted(path.name for path in ROOT.glob("*.md"))
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def anchors(path: Path) -> set[str]:
    """The headings of a page, as links write them."""
    headings = re.findall(r"^#+ +(.*)$", path.read_text("utf-8"), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in plain}


def dead(name: str, text: str, only: str = "") -> list[str]:
    """Links of a page's text to files or headings that are not there. only: with this word."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)", text):
        file, _, anchor = link.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        if only not in link or re.match(r"[a-z]+:", link):
            continue
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            found.append(link)
    return found


@pytest.mark.parametrize("name", ROOTS)
def test_every_link_of_a_page_at_the_root_leads_somewhere(name):
    assert dead(name, (ROOT / name).read_text("utf-8")) == []


def test_every_link_into_evidence_leads_somewhere():
    found = {name: dead(name, (ROOT / name).read_text("utf-8"), "evidence/") for name in DOCS}
    assert {name: links for name, links in found.items() if links} == {}


def test_a_dead_link_is_found():
    text = "[a](docs/facts.md) [b](docs/no.md) [c](https://no.such) `[d](no)` [f](evidence/no)"
    headings = "[g](docs/facts.md#no-such) [h](#commands) [i](#no) [j](docs/glossary.md#exhausted)"
    bad = ["docs/no.md", "evidence/no", "docs/facts.md#no-such", "#no"]
    assert dead("README.md", f"{text} {headings}") == bad
    assert dead("README.md", text, "evidence/") == ["evidence/no"]

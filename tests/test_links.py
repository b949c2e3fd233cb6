"""Links of the pages at the root, and links into evidence/, lead to files that are there.

Links between the pages of docs/, and to their headings, are looked at when the site is made
(``invoke check``): mkdocs is strict.
"""

from __future__ import annotations

import re

import pytest

from redial.paths import ROOT

ROOTS = sorted(path.name for path in ROOT.glob("*.md"))
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def dead(name: str, text: str, only: str = "") -> list[str]:
    """Files a page's text links to that are not there. only: with this word in their path."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)\s#]+)", text) if ":" not in link]
    folder = (ROOT / name).parent
    return [link for link in links if only in link and not (folder / link).exists()]


@pytest.mark.parametrize("name", ROOTS)
def test_every_link_of_a_page_at_the_root_leads_somewhere(name):
    assert dead(name, (ROOT / name).read_text("utf-8")) == []


def test_every_link_into_evidence_leads_somewhere():
    found = {name: dead(name, (ROOT / name).read_text("utf-8"), "evidence/") for name in DOCS}
    assert {name: links for name, links in found.items() if links} == {}


def test_a_dead_link_is_found():
    text = "[a](docs/facts.md) [b](docs/no.md) [c](https://no.such) `[d](no)` [e](#no) [f](evidence/no)"
    assert dead("README.md", text) == ["docs/no.md", "evidence/no"]
    assert dead("README.md", text, "evidence/") == ["evidence/no"]

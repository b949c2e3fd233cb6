"""Links of the pages at the root lead to files and headings that are there.

Those of the pages of docs/, which are the site, are looked at when it is made (``invoke check``):
mkdocs is strict.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import ROOT

ROOTS = sorted(path.name for path in ROOT.glob("*.md"))


def anchors(path: Path) -> set[str]:
    """The headings of a page, as links write them."""
    headings = re.findall(r"^#+ +(.*)$", path.read_text("utf-8"), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in plain}


def dead(name: str, text: str) -> list[str]:
    """Links of a page's text to files or headings that are not there."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)", text):
        file, _, anchor = link.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        if re.match(r"[a-z]+:", link):
            continue
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            found.append(link)
    return found


@pytest.mark.parametrize("name", ROOTS)
def test_every_link_of_a_page_at_the_root_leads_somewhere(name):
    assert dead(name, (ROOT / name).read_text("utf-8")) == []


def test_a_dead_link_is_found():
    text = "[a](docs/facts.md) [b](docs/no.md) [c](https://no.such) `[d](no)`"
    headings = "[g](docs/facts.md#no-such) [h](#commands) [i](#no) [j](docs/glossary.md#exhausted)"
    bad = ["docs/no.md", "docs/facts.md#no-such", "#no"]
    assert dead("README.md", f"{text} {headings}") == bad

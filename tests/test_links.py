"""Links between our pages lead to files and headings that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)


def anchors(path: Path) -> set[str]:
    """The headings of a page, as links write them."""
    headings = re.findall(r"^#+ +(.*)$", path.read_text("utf-8"), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in plain}


def dead(name: str, text: str) -> list[str]:
    """Links of a page's text that lead nowhere."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            found.append(link)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    assert dead(name, (ROOT / name).read_text("utf-8")) == []


def test_a_dead_link_is_found():
    text = "[a](docs/facts.md) [b](docs/no.md) [c](docs/facts.md#no-such) [d](#commands) `[e](no)`"
    assert dead("README.md", text) == ["docs/no.md", "docs/facts.md#no-such"]

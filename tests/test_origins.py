"""What code and pages cite of docs/origins.md is there, and nothing cites what is not in here."""

from __future__ import annotations

import re
import subprocess

from redial.paths import ROOT

ORIGINS = (ROOT / "docs" / "origins.md").read_text("utf-8")
TOLD = subprocess.run(
    ["git", "ls-files", "-co", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()
TEXTS = {
    name: (ROOT / name).read_text("utf-8")
    for name in TOLD
    if name.endswith((".py", ".md", ".j2", ".toml")) and (ROOT / name).is_file()
}


def rules() -> set[str]:
    """Every citation that is right: 'choices', 'locks', 'locks 1' ..."""
    found = set()
    for part in re.split(r"^## ", ORIGINS, flags=re.M)[2:]:
        name = part.split("\n", 1)[0].lower()
        found |= {name} | {f"{name} {n}" for n in re.findall(r"^(\d)\. ", part, re.M)}
    return found


def test_every_cited_seed_is_one_of_the_five():
    known = set(re.findall(r"^\| (\d{3}) \|", ORIGINS, re.M))
    cited = {n for text in TEXTS.values() for n in re.findall(r"\b[Ss]eed (\d{3})\b", text)}
    assert cited == known == {"000", "001", "002", "003", "004"}


def test_every_cited_rule_is_there():
    known = rules()
    assert {"choices", "locks 8", "accounting 7"} <= known
    cited = {
        rule
        for name, text in TEXTS.items()
        if name != "docs/origins.md"
        for rule in re.findall(r"\(origins: ([a-z]+(?: \d)?)\)", text)
    }
    assert cited and cited <= known


def test_nobody_cites_what_is_not_in_the_repository():
    """Texts of this project's founders that a clone does not have."""
    elsewhere = re.compile(
        r"\bdesign \d\.\d|\bpromise \d\.\d|\.\./shared|correctness\.md|house\.md"
    )
    found = [
        f"{name}: {word}"
        for name, text in TEXTS.items()
        if name != "tests/test_origins.py"
        for word in elsewhere.findall(text)
    ]
    assert found == []

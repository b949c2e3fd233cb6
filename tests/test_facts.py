"""Every fact that code or tests cite by number is in docs/facts.md."""

from __future__ import annotations

import re

from redial.paths import ROOT

CITED = re.compile(r"\bF-\d{3}\b")


def test_every_fact_the_code_cites_is_written_down():
    known = set(re.findall(r"^\*\*(F-\d{3})\*\*", (ROOT / "docs" / "facts.md").read_text(), re.M))
    cited = {
        number: path.relative_to(ROOT)
        for folder in ("harness", "tests", "sql", "tools")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".sql", ".j2", ".toml"}
        for number in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert {n: path for n, path in cited.items() if n not in known} == {}

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


FACT = re.compile(r"^\*\*(F-\d{3})\*\*(.*?)(?=^\*\*F-|^#|\Z)", re.M | re.S)
FOLDER = re.compile(r"\*[Rr]ecorded\*\s+\(([^)]+)\)")
ROW = re.compile(r"^\| (\S+) \| (\d+) \| ([^|]+) \|$", re.M)


def recorded(text: str) -> dict[str, set[str]]:
    """Which facts each area of the recordings shows: the folder in front of a path."""
    found: dict[str, set[str]] = {}
    for number, body in FACT.findall(text):
        for paths in FOLDER.findall(body):
            for path in paths.split(","):
                found.setdefault(path.strip().split("/")[0], set()).add(number)
    return found


def test_the_table_counts_the_recorded_facts_of_each_area():
    """Each recorded fact is cited by a test, and the table has one row for each folder."""
    text = (ROOT / "docs" / "facts.md").read_text("utf-8")
    counted = {area: (int(n), numbers) for area, n, numbers in ROW.findall(text)}
    expected = {
        area: (len(numbers), ", ".join(sorted(numbers))) for area, numbers in recorded(text).items()
    }
    assert counted == expected
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert {n for numbers in recorded(text).values() for n in numbers if n not in tests} == set()

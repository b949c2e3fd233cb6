"""docs/pipeline.md's table of guarantees: each cell names a test that is there, or says not tried."""

from __future__ import annotations

import ast
import re

import pytest

from redial.paths import DOCS, ROOT
from redial.spark.tables import KINDS
from tests.test_howto import dead

PAGE = (DOCS / "pipeline.md").read_text(encoding="utf-8")
HEADING = "## Guarantees\n"
NOT_TRIED = "not tried"
LETTERS = re.compile(r"\(([a-z])\)")


def rows(text: str) -> list[list[str]]:
    """Cells of the table, its head first."""
    part = text.partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line
    ]


def named(text: str) -> dict[str, str]:
    """The test each letter stands for."""
    return dict(re.findall(r"^\(([a-z])\) `([^`]+)`", text, re.M))


def arguments(test: str) -> set[str]:
    file, _, name = test.partition("::")
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return {argument.arg for argument in node.args.args}
    return set()


def faults(text: str) -> list[str]:
    """What is wrong with the table."""
    (_, *kinds), *body = rows(text)
    names, found, columns = named(text), [], {}
    if [kind.partition("`")[2].partition("`")[0] for kind in kinds] != list(KINDS):
        found.append(f"columns {kinds}, kinds {list(KINDS)}")
    for guarantee, *cells in body:
        for kind, cell in zip(KINDS, cells, strict=True):
            letters = LETTERS.findall(cell)
            if (NOT_TRIED in cell) == bool(letters):
                found.append(f"{guarantee}, {kind}: a test or {NOT_TRIED}, one of both")
            for letter in letters:
                columns.setdefault(letter, set()).add(kind)
    for letter in sorted(columns | names):
        test = names.get(letter, "")
        if letter not in columns or letter not in names:
            found.append(f"({letter}) stands in one place only")
        elif why := dead(test):
            found.append(f"({letter}) {why}")
        elif "/pipeline/" in test and len(columns[letter]) > 1 and "kind" not in arguments(test):
            found.append(f"({letter}) {test}: does not take the kind")
    return found


def test_each_cell_of_the_table_names_a_test_that_is_there():
    assert len(rows(PAGE)) > 10
    assert faults(PAGE) == []


@pytest.mark.parametrize(
    ("true", "wrong", "said"),
    [
        (r"\| yes \(a\) ", "| yes ", "one of both"),
        (r"\| not tried \|", "| yes |", "one of both"),
        (r"::test_stopped", "::test_stooped", "has no test_stooped"),
        (r"\n\(b\) ", "\n", "stands in one place only"),
        (r"`delta` \(delta-rs\)", "`delta-rs`", "columns"),
        (
            r"::test_stopped\w+",
            "::test_a_day_is_a_partition_whatever_the_sessions_time_zone",
            "kind",
        ),
    ],
)
def test_a_cell_that_names_none_is_found(true, wrong, said):
    broken = re.sub(true, wrong, PAGE, count=1)
    assert broken != PAGE and any(said in fault for fault in faults(broken))

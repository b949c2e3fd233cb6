"""``python -m tests.left_out`` writes docs/generated/left-out.md: what the gate does not run, and why.

It collects the suite as the gate does, and reads where a test asks ``full()`` or for a stride.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from redial.paths import PAGES, ROOT
from tests.sampling import FULL

PAGE = PAGES / "left-out.md"
HEAD = """# What the gate leaves out

This page says which tests `invoke test` does not run, by which rule, and why. The command
`python -m tests.left_out` wrote it from the suite as it was then; it is not kept up to date by itself.
`invoke test --full` runs a third of it, in turns by the day, and what no run has passed yet;
`REDIAL_NIGHT=all invoke test --full` runs all of it.

The reason is always time: the whole suite takes hours of processor time. A case that no night has passed
yet (`evidence/nightly.txt`) is left out by neither of the first two rules: the gate runs it; where there is
no such file, nobody knows what is new. A case is known by its family and its id, so a case whose id stays
the same while its content changes is not new.
"""
FAMILIES = """## Families

A family is one test with many cases. Of these the gate takes the cases that the rule names.
"""
TESTS = """## Tests for the night

These run at night only, a third of them each night.
"""
SMALLER = """## Smaller on the gate

The same tests, with less of something. A question to `full()` is yes at night. `crash_stride(N)` is a test
that kills behind every N-th statement on the gate; at night behind those that change something, most often an
eighth of them each night, in turns. `turn(N)` is one of so many nights; `longest_tonight(N)` is yes one
night of three. What is new here waits for the night.
"""


class Family(NamedTuple):
    """A sampled family: its cases, how many the gate runs, and the rule."""

    name: str
    cases: int
    taken: int
    rule: str


class Smaller(NamedTuple):
    """A place that asks ``full()``, or for a stride."""

    where: str
    night: str
    gate: str


class Collected:
    """A plugin that sees every test before and after the gate's choice."""

    def __init__(self) -> None:
        self.all: list[pytest.Item] = []
        self.taken: list[pytest.Item] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Around every other plugin's."""
        self.all = list(items)
        yield
        self.taken = [item for item in items if not _waits(item)]

    def families(self) -> Iterator[Family]:
        """Those that are sampled, by name."""
        taken = Counter(_family(item) for item in self.taken)
        cases = Counter(_family(item) for item in self.all if item.get_closest_marker("sampled"))
        rules = {_family(item): item.get_closest_marker("sampled") for item in self.all}
        for name in sorted(name for name in cases if taken[name] < cases[name]):
            yield Family(name, cases[name], taken[name], rule(**rules[name].kwargs))

    def waiting(self) -> Iterator[tuple[str, int, str]]:
        """Tests for the night: name, cases, why."""
        waiting = [item for item in self.all if _waits(item)]
        whys = {_family(item): _why(item.get_closest_marker("nightly")) for item in waiting}
        counted = Counter(map(_family, waiting))
        yield from ((name, counted[name], whys[name]) for name in sorted(whys))


def _waits(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("nightly") and item.get_closest_marker("skip"))


def _why(marker: pytest.Mark) -> str:
    return str(marker.args[0])


def _family(item: pytest.Item) -> str:
    return item.nodeid.split("[")[0]


def rule(every: int, meets: tuple[str, ...] = (), last: bool = True) -> str:
    """What a sample takes, in words."""
    also = [*(["the last"] if last else []), *(f"each {name}" for name in meets)]
    return ", ".join([f"one of {every}", *also])


def smaller(path: Path, root: Path) -> Iterator[Smaller]:
    """Where a file asks ``full()`` or for a stride: what it takes at night, and what on the gate."""
    tree = ast.parse(path.read_text("utf-8"))
    above = {below: node for node in ast.walk(tree) for below in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id not in ("full", "longest_tonight", "crash_stride"):
            continue
        holder: ast.AST = node
        while holder in above and not isinstance(holder, ast.FunctionDef | ast.Assign):
            holder = above[holder]
        where = f"{path.relative_to(root).as_posix()} {_name(holder)}".rstrip()
        if node.func.id == "crash_stride":
            yield Smaller(where, "kills at more places", f"one of {ast.unparse(node.args[0])}")
        else:
            yield Smaller(where, *_sides(node, above))


def _sides(asked: ast.AST, above: dict[ast.AST, ast.AST]) -> tuple[str, str]:
    """Of the choice that a question decides alone; else how it is asked."""
    no = isinstance(above[asked], ast.UnaryOp)
    asked = above[asked] if no else asked
    choice = above[asked]
    if isinstance(choice, ast.IfExp) and choice.test is asked:
        sides = ast.unparse(choice.body), ast.unparse(choice.orelse)
        return sides[::-1] if no else sides
    while not isinstance(choice, ast.stmt):
        choice = above[choice]
    first, *more = ast.unparse(choice).splitlines()
    return f"asks: {first}{' ...' if more else ''}", ""


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""


def table(head: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> str:
    """A table of Markdown; a bar in a cell is written so that it ends none."""
    lines = [head, ("---",) * len(head), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def page(collected: Collected, root: Path) -> str:
    """The page's text."""
    asked = (
        place
        for path in sorted((root / "tests").rglob("*.py"))
        if path.name != "left_out.py"
        for place in smaller(path, root)
    )
    count = f"On the gate {len(collected.taken):,} of {len(collected.all):,} tests run.\n"
    return "\n".join(
        (
            HEAD,
            count,
            FAMILIES,
            table(("family", "cases", "on the gate", "rule"), collected.families()),
            TESTS,
            table(("test", "cases", "why"), collected.waiting()),
            SMALLER,
            table(("where", "at night", "on the gate"), asked),
        )
    )


def main() -> int:
    """Write the page; pytest's status where the suite cannot be collected."""
    os.environ.pop(FULL, None)
    collected = Collected()
    status = pytest.main(["--collect-only", "-qqq", str(ROOT / "tests")], plugins=[collected])
    if status == pytest.ExitCode.OK:
        PAGE.write_text(page(collected, ROOT), "utf-8", newline="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""The pages docs/howto/add-a-*.md: what they name is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from redial.paths import DOCS, ROOT

HOWTO = DOCS / "howto"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(HOWTO.glob("add-*.md"))}
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def named(text: str) -> list[str]:
    """What a page has in backticks."""
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def is_path(word: str) -> bool:
    return bool(re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+/?", word)) and "//" not in word


def dead(word: str) -> str:
    """Why a name leads nowhere; '' for one that leads somewhere, or is none."""
    file, _, rest = word.partition("::") if "::" in word else word.partition(": ")
    if not is_path(file):
        return ""
    found = list(ROOT.glob(file.rstrip("/")))
    if not found:
        return f"{file}: there is no such file"
    if rest and not any(rest in defined(path) for path in found):
        return f"{file}: has no {rest}"
    return ""


def defined(path: Path) -> set[str]:
    """Names a Python file defines or assigns, those of its classes with a dot."""
    found: set[str] = set()

    def look(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.AnnAssign):
                found.add(prefix + ast.unparse(node.target))
            if isinstance(node, ast.Assign):
                found.update(prefix + ast.unparse(target) for target in node.targets)

    look(ast.parse(path.read_text("utf-8")).body, "")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_everything_a_page_names_is_there(name):
    words = named(PAGES[name])
    assert [why for word in words if (why := dead(word))] == []
    assert sum(is_path(re.split(r"::|: ", word)[0]) for word in words) > 5


def test_a_name_that_leads_nowhere_is_found():
    assert dead("harness/redial/config/choices.py: Key") == ""
    assert dead("harness/redial/config/choices.py: Kay") != ""
    assert dead("harness/redial/config/kays.py") != ""
    assert dead("sql/templates/*/nothing*.j2") != ""
    assert dead("tests/test_howto.py::test_nothing") != ""

"""The pages docs/howto/add-a-*.md: what they name is there, and each check they name goes red when
its step is left out.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from redial.config import Config, load
from redial.config.choices import AVAILABLE
from redial.config.sections import Operations
from redial.lint import rules
from redial.paths import CONFIGS, DOCS, GENERATED, ROOT
from redial.render import RenderError, check, render, write
from redial_broker.exec.ddl.computed import DETERMINISTIC
from redial_broker.exec.functions.registry import FUNCTIONS, Call, function
from redial_lab import scenarios
from redial_lab.pages.coverage import page as coverage
from redial_lab.scenarios import all as every_scenario
from tests.completeness import (
    NOT_THE_SAME,
    OWED_COLUMNS,
    OWED_FINDINGS,
    OWED_TESTS,
    OWED_VALUES,
    codes,
    every_rule,
    is_constant,
    options,
    uncalled,
    unchanged,
    unexplained,
    unmade,
    unread,
    untold,
)
from tests.sampling import sample

HOWTO = DOCS / "howto"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(HOWTO.glob("add-*.md"))}
TESTS = ROOT / "tests"
AUDIT = load(CONFIGS / "audit.toml")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


# ---------------------------------------------------------------------- what the pages name
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


def rows(text: str) -> Iterator[tuple[str, str]]:
    """First and last cell of each line of a page's table of files."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            yield cells[0], cells[-1]


RED = ("your own test", "none")
"""What stands in the last column instead of a test."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_its_table_names_files_and_tests(name):
    text = PAGES[name]
    assert 30 <= text.count("\n") <= 75
    assert re.search(r"^1\. ", text, re.M) and "## Commands" in text
    assert len(list(rows(text))) >= 2
    for file, red in rows(text):
        assert any(is_path(re.split(r"::|: ", word)[0]) for word in named(file)), file
        assert red in RED or all("::" in word for word in named(red)), red


def test_there_is_a_page_for_each_kind_and_each_can_be_found():
    kinds = ("a-function", "a-health-check", "a-key", "a-lint-rule", "a-scenario", "an-option")
    assert tuple(PAGES) == tuple(f"add-{kind}" for kind in kinds)
    for place in ("CONTRIBUTING.md", "docs/index.md", "mkdocs.yml"):
        text = (ROOT / place).read_text("utf-8")
        assert all(f"howto/{name}.md" in text for name in PAGES), place


# ---------------------------------------------------------------------- a copy to try things in
class Copy:
    """Some folders of the checkout, to change."""

    def __init__(self, folder: Path, *parts: str) -> None:
        self.root = folder
        for part in parts:
            source = ROOT / part
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / part)

    def put(self, path: str, before: str, text: str) -> None:
        """Write a text before another one, which is there once."""
        file = self.root / path
        old = file.read_text("utf-8")
        assert old.count(before) == 1, (path, before)
        file.write_text(old.replace(before, text + before), "utf-8")


def only(found: Iterable[str], owed: Iterable[str], what: str) -> None:
    """Nothing is missing but what is owed, and what is there now is not owed any more."""
    found, owed = set(found), set(owed)
    assert found - owed == set(), what
    assert owed - found == set(), "is there now: take it out of the list"


# ---------------------------------------------------------------------- an option


def test_audit_toml_explains_every_option():
    assert unexplained() == []


def test_every_option_is_read():
    assert unread() == []


def test_every_option_has_another_value_in_a_test():
    only(unchanged(), OWED_VALUES, "write a test with another value")


def test_an_option_is_missed_wherever_it_is_left_out(tmp_path):
    quiet = create_model("Operations", __base__=Operations, quiet_hours=(int, 0))
    bigger = create_model("Config", __base__=Config, operations=(quiet, quiet()))
    copy = Copy(tmp_path, "sql/templates", "sql/configs", "sql/mutants")
    # The templates read it, the model does not know it.
    health = "sql/templates/65_functions/02_ufn_HealthData.function.sql.j2"
    copy.put(health, "    RETURN;\n", "    /* {{ c.operations.quiet_hours }} */\n")
    with pytest.raises(RenderError, match="quiet_hours"):
        render(AUDIT, tmp_path / "sql")
    data = AUDIT.model_dump(by_alias=True, mode="json")
    assert render(bigger.model_validate(data), tmp_path / "sql")
    # The model knows it; each of the other steps is left out, then done.
    option = ["operations.quiet_hours"]
    assert unread(bigger) == option and unread(bigger, tmp_path / "sql" / "templates") == []
    text = (CONFIGS / "audit.toml").read_text("utf-8")
    assert unexplained(bigger) == option
    assert (
        unexplained(bigger, text.replace("[operations]\n", "[operations]\nquiet_hours = 0\n")) == []
    )
    assert option[0] in unchanged(bigger, "nothing")
    assert option[0] not in unchanged(bigger, 'operations={"quiet_hours": 3}')


def test_every_choice_from_a_list_can_be_rendered():
    kinds = {
        kind for _, _, kind in options() if isinstance(kind, type) and issubclass(kind, StrEnum)
    }
    assert kinds <= AVAILABLE.keys()
    assert all(AVAILABLE[kind] == tuple(kind) for kind in AVAILABLE)


# ---------------------------------------------------------------------- a built-in function


def test_every_function_is_called_in_a_test():
    only(uncalled(FUNCTIONS), OWED_TESTS, "write a test below tests/broker")


def test_a_function_with_one_answer_may_be_in_a_computed_column():
    once = {name for name in FUNCTIONS if name not in DETERMINISTIC and is_constant(name)}
    only(once, OWED_COLUMNS | NOT_THE_SAME.keys(), "name it in DETERMINISTIC, or here")


def test_a_function_is_missed_wherever_it_is_left_out(monkeypatch):
    from redial_broker.engine.types import INT
    from redial_broker.exec.expressions.expr import strict

    before = coverage.functions()
    assert before.strip() in coverage.PAGE.read_text("utf-8")
    monkeypatch.setitem(FUNCTIONS, "HOWTO", None)  # so that it is taken away again
    monkeypatch.delitem(FUNCTIONS, "HOWTO")

    @function("HOWTO", 1)
    def _howto(call: Call) -> Any:
        return strict(len, INT, [call.text(0)])

    try:
        assert coverage.functions() != before, "invoke pages"
        assert uncalled(FUNCTIONS) == {"HOWTO"} | OWED_TESTS
        assert "HOWTO" not in uncalled(FUNCTIONS, "howto('a')")
        assert "HOWTO" not in DETERMINISTIC and is_constant("HOWTO")
    finally:
        del FUNCTIONS["HOWTO"]


# ---------------------------------------------------------------------- a lint rule


def test_no_two_rules_have_one_code():
    assert codes(every_rule()) == sorted(rules.RULES)
    written = (ROOT / "harness" / "redial" / "lint" / "rules").glob("[a-z]*.py")
    assert sum(path.read_text("utf-8").count("    Rule(\n") for path in written) == len(rules.RULES)


def test_a_lint_rule_is_missed_wherever_it_is_left_out(monkeypatch, tmp_path):
    from redial.lint import page
    from redial_lab.commands.pages import settle

    red = import_module("tests.product.lint.test_rules")
    last = max(rules.RULES)
    new = replace(rules.RULES[last], code="SB99", name="howto")
    assert len(set(codes([*every_rule(), replace(new, code=last)]))) == len(rules.RULES), "twice"
    monkeypatch.setitem(rules.RULES, "SB99", new)
    # Left out: cases, page, FIRES.
    with pytest.raises(AssertionError):
        red.test_every_rule_has_cases_for_and_against("SB99")
    with pytest.raises(AssertionError):
        red.test_the_page_is_up_to_date()
    fires = [seed for seed in red.seeds() if last in red.FIRES[seed.number]]
    with pytest.raises(AssertionError):
        red.test_each_seed_breaks_the_rules_that_are_about_it_and_no_other(fires[0])
    # Done.
    for (code, name), case in [*red.CASES.items()]:
        if code == last:
            monkeypatch.setitem(red.CASES, ("SB99", name), case)
    for seed in fires:
        monkeypatch.setitem(red.FIRES, seed.number, red.FIRES[seed.number] | {"SB99"})
    monkeypatch.setattr(page, "PAGE", tmp_path / "lint.md")
    settle("lint.md", page.PAGE, page.page(), check=False)
    red.test_every_rule_has_cases_for_and_against("SB99")
    red.test_the_page_is_up_to_date()
    red.test_each_seed_breaks_the_rules_that_are_about_it_and_no_other(fires[0])
    red.test_every_rule_says_why_what_instead_and_where_it_happened(new)
    with pytest.raises(AssertionError):
        red.test_every_rule_says_why_what_instead_and_where_it_happened(replace(new, why="x"))


# ---------------------------------------------------------------------- a health check


def test_every_finding_of_usp_Health_is_made_in_a_test():
    only(unmade(), OWED_FINDINGS, "write a line in FAULTS")


def test_a_finding_is_missed_wherever_it_is_left_out(tmp_path):
    copy = Copy(tmp_path, "sql/templates", "sql/mutants")
    copy.put(
        "sql/templates/65_functions/02_ufn_HealthData.function.sql.j2",
        "    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)\n"
        "    SELECT 50, N'poison",
        "    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)\n"
        "    VALUES (150, N'howto', NULL, NULL, N'Nothing is wrong.', NULL);\n",
    )
    made, root = GENERATED / "audit", tmp_path / "sql"
    # Left out: a test, invoke render, tools/oracle_verdicts.py.
    assert unmade(root / "templates") - OWED_FINDINGS == {"howto"}
    stale = check(AUDIT, made, root)
    assert any("65_02_ufn_HealthData.function.sql" in line for line in stale)
    name = "65_02_ufn_HealthData.function.sql"
    verdicts = (TESTS / "product" / "sql" / "oracle_verdicts.txt").read_text("utf-8")
    digest = hashlib.sha256(render(AUDIT, root)[name].encode()).hexdigest()
    assert f"  audit/{name}" in verdicts and digest not in verdicts
    # Done.
    assert unmade(root / "templates", '"howto"') == OWED_FINDINGS
    shutil.copytree(made, tmp_path / "generated")
    write(AUDIT, tmp_path / "generated", root)
    assert check(AUDIT, tmp_path / "generated", root) == []


# ---------------------------------------------------------------------- a scenario


def test_every_scenario_is_told_clean_and_with_its_mutant():
    assert untold(every_scenario.SCENARIOS) == []


def test_a_scenario_is_missed_wherever_it_is_left_out(tmp_path, monkeypatch):
    source = Path(every_scenario.__file__).with_name("target_down.py").read_text("utf-8")
    new = tmp_path / "howto_story.py"
    new.write_text(source.replace('"target-down"', '"howto-story"'), "utf-8")
    monkeypatch.setattr(scenarios, "__path__", [*scenarios.__path__, str(tmp_path)])
    try:
        reload(every_scenario)
        assert "howto-story" in every_scenario.SCENARIOS, "there is no list to add it to"
        assert untold(every_scenario.SCENARIOS) == ["clean(howto-story)", "caught(howto-story)"]
        told = 'clean("howto-story"); caught("howto-story")'
        assert untold(every_scenario.SCENARIOS, told) == []
        new.write_text("SCENARIOS = ()\n", "utf-8")
    finally:
        monkeypatch.undo()
        sys.modules.pop("redial_lab.scenarios.howto_story", None)
        reload(every_scenario)
    assert "howto-story" not in every_scenario.SCENARIOS


# ---------------------------------------------------------------------- samples
def test_a_sample_takes_every_nth_the_last_and_each_choice():
    family = [{"key": key, "fault": fault} for key in ("a", "b", "c") for fault in range(5)]
    assert sample(family, 5) == {0, 5, 10, 14}
    assert sample(family, 7) == {0, 7, 14}
    assert sample(family, 7, last=False) == {0, 7, 14}
    assert sample(family, 8, last=False) == {0, 8}
    assert sample(family, 8, meets=("key",), last=False) == {0, 8, 10}
    assert sample(family, 15, meets=("key", "fault"), last=False) == {0, 1, 2, 3, 4, 5, 10}
    assert sample([], 3) == set()


def test_a_new_choice_in_a_name_is_never_left_out():
    names = ["spid-timer", "spid-never", "pool-timer", "pool-never", "host-never", "spid-aged"]
    kept = sample([{"name": name} for name in names], 10, meets=("name",), last=False)
    assert {part for place in kept for part in names[place].split("-")} == {
        *("spid", "pool", "host", "timer", "never", "aged")
    }

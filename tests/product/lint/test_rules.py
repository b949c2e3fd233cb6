"""Every rule by its cases: ``cases/SBnn.yaml`` has a text and the places where the rule speaks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from redial.lint.files import UNPARSED, lint_text
from redial.lint.model import Options
from redial.lint.rules import BROKER, FILES, QUERIES, RULES, TABLES, TRANSACTIONS
from redial.lint.seeds import seeds
from redial.paths import GENERATED

CASES = {
    (path.stem, case["name"]): case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text(encoding="utf-8"))
}


def lint(sql: str, code: str) -> list[tuple[int, int]]:
    options = Options(file_settings=code == "SB12")
    found = lint_text(sql, options)
    assert [one for one in found if one.code == UNPARSED] == []
    return [(one.line, one.column) for one in found if one.code == code]


@pytest.mark.parametrize(("code", "name"), CASES)
def test_the_rule_speaks_where_the_case_says(code, name):
    case = CASES[code, name]
    assert lint(case["sql"], code) == [tuple(place) for place in case["finds"]]


def test_no_two_rules_have_one_code():
    every = [rule.code for rule in (*BROKER, *FILES, *QUERIES, *TABLES, *TRANSACTIONS)]
    assert sorted(every) == sorted(RULES)


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_cases_for_and_against(code):
    outcomes = {bool(case["finds"]) for (of, _), case in CASES.items() if of == code}
    assert outcomes == {True, False}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_says_why_what_instead_and_where_it_happened(rule):
    for text in (rule.why, rule.instead, rule.example):
        assert text.endswith(".") and len(text) > 20


def test_what_does_not_parse_has_one_finding_where_the_parser_stopped():
    [found] = lint_text("SELECT 1;\nGO\nSELECT FROM t;", Options(file_settings=False))
    assert (found.code, found.line, found.column) == (UNPARSED, 3, 8)


@pytest.mark.parametrize("path", sorted(GENERATED.rglob("*.sql")), ids=lambda p: p.name)
def test_what_we_ship_is_clean(path):
    assert lint_text(path.read_text(encoding="utf-8")) == []


def test_the_page_is_up_to_date():
    from redial.lint.page import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "next: invoke pages"


FIRES = {
    "000": {"SB05", "SB06", "SB08", "SB09", "SB12", "SB13"},
    "001": {"SB12"},
    "002": {"SB05", "SB06", "SB08", "SB09", "SB12", "SB13"},
    "003": {"SB02", "SB07", "SB12"},
    "004": {"SB03", "SB05", "SB08", "SB12", "SB13"},
}
"""Which rules speak about which seed; every other one says "none" on the page."""


@pytest.mark.parametrize("seed", seeds(), ids=lambda seed: seed.number)
def test_each_seed_breaks_the_rules_that_are_about_it_and_no_other(seed):
    found = seed.findings()
    assert {one.code for _, one, _ in found} == FIRES[seed.number]
    for file, one, words in found:
        assert " ".join(seed.texts[file].split("\n")[one.line - 1].split()) == words


def test_every_rule_points_at_a_seed_or_a_public_page():
    for rule in RULES.values():
        assert "https://" in rule.example or "http://" in rule.example or "eed" in rule.example


def test_every_seed_is_on_the_page_with_every_rule():
    from redial.lint.page import page

    *_, text = page().split("## What fires on the five seeds")
    tables = text.split("### Seed ")[1:]
    assert [table[:3] for table in tables] == ["000", "001", "002", "003", "004"]
    for table in tables:
        assert all(f"| {code} " in table for code in RULES)


def test_a_script_may_name_its_own_table():
    sql = "/* lint: table Dialogs */\nDELETE FROM dbo.Dialogs WHERE Handle = @h;"
    assert {one.code for one in lint_text(sql, Options(file_settings=False))} == {"SB08", "SB13"}

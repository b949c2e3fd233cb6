"""The generated page: complete, the same every time, and not stale."""

from __future__ import annotations

import pytest

from redial.tsql import ast
from redial_broker.engine import differences
from redial_broker.engine.differences import DIFFERENCES, differs
from redial_broker.engine.switches import NEVER_MET, SWITCHES
from redial_broker.exec.compiler import FLOW, REGISTRY
from redial_lab.commands.coverage import coverage
from redial_lab.pages.coverage import errors, page
from redial_lab.pages.coverage.examples import FAILS, RUNS, lists, more, surface
from redial_lab.pages.coverage.nodes import evidence, kinds, title


@pytest.fixture(scope="module")
def text():
    return page.text()


def test_the_committed_page_is_not_stale(text):
    """A construct runs now, or is refused now: invoke pages writes it down."""
    assert page.PAGE.read_text("utf-8") == text, "next: invoke pages"


def test_the_command_says_what_is_stale(text, monkeypatch, tmp_path, capsys):
    copy = tmp_path / "coverage.md"
    monkeypatch.setattr(page, "PAGE", copy)
    coverage()
    assert copy.read_text("utf-8") == text, "the same every time"
    monkeypatch.setattr(page, "text", lambda: text)
    copy.write_text(copy.read_text("utf-8").replace("## Errors", "## Mistakes"), "utf-8")
    with pytest.raises(SystemExit):
        coverage(check=True)
    assert "-## Mistakes" in capsys.readouterr().out


def test_every_kind_of_node_has_an_example():
    assert [k.__name__ for k, found in evidence(page.outcomes()).items() if not found.status] == []


def test_no_example_fails_in_any_other_way_than_by_a_refusal():
    failing = {e.name: o for e, o in page.outcomes().items() if o.status == FAILS}
    assert failing == {}


def test_every_switch_difference_and_section_is_on_the_page(text):
    for switch in SWITCHES.values():
        assert f"| `{switch.name}` |" in text
    for what, why in (DIFFERENCES | NEVER_MET).items():
        assert f"| {what} | {why} |" in text
    for example in (*surface(), *more(), *lists()):
        assert example.section in text
    used = [e for e in surface() if e.sets >= 2]
    assert f"{page.ran(used)} of the {len(used)} constructs used by at least 2" in text


def test_what_the_page_calls_refused_has_no_example_that_runs():
    found = evidence(page.outcomes())
    assert all(
        kind in REGISTRY or kind in FLOW
        for kind in kinds()
        if issubclass(kind, ast.Statement)
        and found[kind].status == RUNS
        and kind not in INSIDE_OTHERS
    )


INSIDE_OTHERS = {ast.Receive, ast.GetConversationGroup, ast.SelectStatement}
"""Statements that may also stand inside another one."""


def test_a_refusal_is_shown_without_its_position():
    assert page.reason("The embedded broker does not support X (line 1, column 2).") == "X"
    assert page.reason("Redial's T-SQL parser does not support Y.") == "Y."


def test_an_error_has_the_states_of_the_code_that_raises_it():
    by_number = {row[0]: row for row in errors.table()}
    assert by_number[1205][1:3] == (13, "51")
    assert "by resource" in by_number[1222][2]
    assert by_number[60001][1] == 16


def test_a_difference_is_declared_once(monkeypatch):
    monkeypatch.setattr(differences, "DIFFERENCES", {})
    differs("a", "b")
    with pytest.raises(ValueError, match="twice"):
        differs("a", "b")


def test_statements_are_named_as_a_dba_names_them():
    assert title(ast.CreateBrokerPriority) == "CREATE BROKER PRIORITY"
    assert title(ast.XmlNamespace) == "xml namespace"

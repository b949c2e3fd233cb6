"""A plan in every form it can be asked for: nothing of it is lost, and no text of a server is markup."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from redial.cli.plan import verdict
from redial.cli.plan_forms import FORMS, html, junit, markdown, sarif
from redial.deploy.plan import Action, Plan, _parameters, mark_of

NOTHING = Plan(
    config="audit",
    schema="audit",
    server="a server",
    login="sa",
    product="SQL Server 16.0, Developer, level 160",
    databases=["lab"],
    gate="open",
    dialogs={"CONVERSING": 3},
    pending={},
    depth={"TargetQueue": 0},
    in_the_way="",
    callers=[],
    drains=[],
    closes="",
    cut=[],
    loss=[],
    drops=[],
    blocked=[],
    actions=[],
    before="b" * 64,
    after="b" * 64,
    fingerprint="f",
    broker="b",
    files="h",
    others=[],
    notes=[],
    told=[],
)
HOSTILE = "a <script>alert(1)</script> | `b` ``` [c](d) @everybody \x01"
ALTERED = Action(
    "alter",
    "module",
    "module usp_Send",
    "lab",
    "drift",
    f"{HOSTILE}\n    -old\n    +new",
    "Sch-M",
    "",
)
LEFT = Action("leave", "permission", "permission X", "lab", "drift", "X is in excess", "", "")
EVERYTHING = replace(
    NOTHING,
    actions=[ALTERED, LEFT],
    blocked=["module usp_X has another text"],
    others=["'audit_module' is not a member of db_owner"],
    callers=["usp_Send: (@a int) becomes (@a bigint)"],
    drains=["key: spid becomes pool"],
    in_the_way="session 51 (login x)",
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_what_is_done_and_what_stands_in_the_way(form):
    said = FORMS[form](EVERYTHING)
    assert "usp&#95;Send" in said or "usp_Send" in said
    assert "X is in excess" in said and "another text" in said
    assert said.endswith("\n")


def test_markdown_folds_what_is_long_and_takes_no_markup_from_a_server():
    said = markdown(replace(EVERYTHING, actions=[ALTERED] * 15))
    assert said.startswith("### redial plan: <code>audit</code> on <code>lab</code>")
    assert "<script>" not in said.split("```")[0] and "@everybody" not in said.split("````")[0]
    assert "<summary>3 more</summary>" in said
    assert "````diff\n" in said and "\n-old\n+new\n````" in said
    assert "blocked: see above" in said and "session 51" in said


def test_html_is_one_page_whose_tags_are_ours():
    class Tags(HTMLParser):
        seen: set[str] = set()

        def handle_starttag(self, tag, attributes):
            self.seen.add(tag)
            assert not {name for name, _ in attributes} & {"src", "href", "onclick"}

    Tags().feed(html(EVERYTHING))
    assert "script" not in Tags.seen and {"table", "pre", "li"} <= Tags.seen


def test_in_junit_a_change_fails_and_what_is_left_does_not():
    suite = ElementTree.fromstring(junit(EVERYTHING))
    failed = [case.find("failure").get("type") for case in suite.iter("testcase")]
    assert failed == ["alter", "blocked", "mend"]
    assert suite.get("failures") == "3" and "X is in excess" in suite.find("system-out").text
    quiet = ElementTree.fromstring(junit(NOTHING))
    assert quiet.get("failures") == "0" and [c.get("name") for c in quiet] == ["nothing to change"]


def test_sarif_has_a_rule_and_a_level_for_each_result():
    [run] = json.loads(sarif(EVERYTHING))["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("blocked", "error"),
        ("mend", "warning"),
        ("alter", "warning"),
        ("leave", "note"),
    ]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {
        one["ruleId"] for one in run["results"]
    }


SARIF = {
    "log": ({"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"}),
    "run": ({"tool"}, {"results", "invocations", "artifacts", "automationDetails", "properties"}),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules", "properties"}),
    "rule": ({"id"}, {"name", "shortDescription", "fullDescription", "help", "helpUri"}),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "kind", "locations", "partialFingerprints", "properties"},
    ),
    "location": (set(), {"physicalLocation", "logicalLocations", "message", "properties"}),
    "physicalLocation": ({"artifactLocation"}, {"region", "contextRegion"}),
    "artifactLocation": (set(), {"uri", "uriBaseId", "index"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn"}),
    "logicalLocation": (set(), {"name", "fullyQualifiedName", "decoratedName", "kind"}),
    "message": (set(), {"text", "markdown", "id", "arguments"}),
}
"""Of the OASIS schema of SARIF 2.1.0: what an object must have, and what else of ours it may have. The
schema allows no other names (additionalProperties)."""


def wrong_in_sarif(log: dict) -> list[str]:
    """What the schema, and GitHub's code scanning beyond it (F-583), would refuse."""
    wrong = []

    def look(kind: str, node: dict) -> dict:
        must, may = SARIF[kind]
        wrong.extend(f"{kind} lacks {name}" for name in must - node.keys())
        wrong.extend(f"{kind} has {name}" for name in node.keys() - must - may)
        return node

    if look("log", log)["version"] != "2.1.0":
        wrong.append("version")
    for run in log["runs"]:
        driver = look("driver", look("run", run)["tool"]["driver"])
        rules = [look("rule", rule)["id"] for rule in driver.get("rules", [])]
        if len(set(rules)) != len(rules):
            wrong.append("a rule twice")
        for result in run["results"]:
            look("message", look("result", result)["message"])
            if result.get("level") not in ("none", "note", "warning", "error"):
                wrong.append("level")
            if result.get("ruleId") not in rules:
                wrong.append("ruleId")
            if not result.get("locations"):
                wrong.append("no location")
            for place in result.get("locations", []):
                if "physicalLocation" not in look("location", place):
                    wrong.append("no physical location")
                    continue
                physical = look("physicalLocation", place["physicalLocation"])
                look("artifactLocation", physical["artifactLocation"])
                if look("region", physical["region"])["startLine"] < 1:
                    wrong.append("region")
                for logical in place.get("logicalLocations", []):
                    look("logicalLocation", logical)
    return wrong


@pytest.mark.parametrize("plan", [NOTHING, EVERYTHING], ids=["nothing", "everything"])
def test_sarif_is_as_its_schema_and_code_scanning_want_it(plan):
    assert wrong_in_sarif(json.loads(sarif(plan))) == []


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("version",), "2.0.0", "version"),
        (("colour",), 1, "log has colour"),
        (("runs", 0, "results", 0, "level"), "fatal", "level"),
        (("runs", 0, "results", 0, "ruleId"), "other", "ruleId"),
        (("runs", 0, "results", 0, "locations"), [], "no location"),
        (
            ("runs", 0, "results", 0, "locations"),
            [{"logicalLocations": []}],
            "no physical location",
        ),
        (("runs", 0, "results", 0, "message"), {"words": "x"}, "message has words"),
        (("runs", 0, "tool", "driver"), {"rules": []}, "driver lacks name"),
    ],
)
def test_a_sarif_that_would_be_refused_is_seen(path, value, said):
    log = json.loads(sarif(EVERYTHING))
    node = log
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    assert said in wrong_in_sarif(log)


def test_the_same_finding_has_the_same_fingerprint_and_others_have_others():
    """So that code scanning opens no second alert for it, and closes it when it is gone."""
    [run] = json.loads(sarif(EVERYTHING))["runs"]
    marks = [one["partialFingerprints"]["redialFinding/v1"] for one in run["results"]]
    assert len(set(marks)) == len(marks)
    [again] = json.loads(sarif(replace(EVERYTHING, actions=[LEFT, ALTERED])))["runs"]
    assert {one["partialFingerprints"]["redialFinding/v1"] for one in again["results"]} == set(
        marks
    )


JUNIT = {
    "testsuite": {
        "name",
        "tests",
        "failures",
        "errors",
        "skipped",
        "time",
        "timestamp",
        "hostname",
    },
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "system-out": set(),
}
"""Elements and their attributes, of what Jenkins, GitLab and Azure DevOps read alike (junit-10.xsd)."""
INSIDE = {
    "testsuite": {"testcase", "system-out"},
    "testcase": {"failure"},
    "failure": set(),
    "system-out": set(),
}


def wrong_in_junit(text: str) -> list[str]:
    suite = ElementTree.fromstring(text)
    wrong = [] if suite.tag == "testsuite" and suite.get("name") else ["root"]
    for node in suite.iter():
        wrong += [
            f"{node.tag} has {name}" for name in set(node.keys()) - JUNIT.get(node.tag, set())
        ]
        wrong += [
            f"{node.tag} in it: {c.tag}" for c in node if c.tag not in INSIDE.get(node.tag, ())
        ]
    cases = list(suite.iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None]
    if (suite.get("tests"), suite.get("failures")) != (str(len(cases)), str(len(failed))):
        wrong.append("counts")
    return wrong + ["no name" for case in cases if not (case.get("name") and case.get("classname"))]


@pytest.mark.parametrize("plan", [NOTHING, EVERYTHING], ids=["nothing", "everything"])
def test_junit_is_what_the_readers_of_it_know(plan):
    assert wrong_in_junit(junit(plan)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('failures="3"', 'failures="2"', "counts"),
        ("<failure type=", "<failure colour='1' type=", "failure has colour"),
        ("classname=", "class=", "testcase has class"),
        ("system-out", "output", "testsuite in it: output"),
    ],
)
def test_a_junit_that_a_reader_does_not_know_is_seen(old, new, said):
    assert said in wrong_in_junit(junit(EVERYTHING).replace(old, new))


def test_the_json_form_is_what_deploy_reads():
    assert mark_of(FORMS["json"](EVERYTHING)) == ("audit", "h", "f", "b", "[]")


def test_parameters_are_read_without_comments_and_layout():
    text = (
        "/* CREATE PROCEDURE */ CREATE OR ALTER PROCEDURE [a].[usp_X]\n    @one int = NULL,   /* AS */\n"
        "    @two nvarchar(max) OUTPUT -- WITH\nWITH EXECUTE AS 'm'\nAS\nSELECT 1;"
    )
    assert _parameters(text) == "(@one int = NULL, @two nvarchar(max) OUTPUT)"
    hostile = "N'it''s /* AS -- WITH'"
    assert (
        _parameters(f"CREATE PROCEDURE a.b @c sysname = {hostile} AS;")
        == f"(@c sysname = {hostile})"
    )
    assert _parameters("CREATE VIEW [a].[v] AS SELECT 1 AS x;") == ""


@pytest.mark.parametrize("actions", [[], [LEFT]])
def test_a_plan_that_only_mends_says_what(actions):
    """Of a configuration whose procedures are signed, its user must not be in db_owner."""
    mend = "'audit_module' is a member of db_owner. Who may: db_owner. Next: redial deploy."
    said = verdict(replace(NOTHING, others=[mend], actions=actions))
    left = "1 leave, " * len(actions)
    assert said == (
        f"changes: {left}1 mend: 'audit_module' is a member of db_owner. Nothing was changed yet."
    )
    assert verdict(replace(NOTHING, others=[mend], actions=[ALTERED])) == (
        "changes: 1 alter, 1 mend. Nothing was changed yet."
    )

"""A doctor's report in every form: a real parser reads it back, and no text of a server is markup."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from redial.cli.doctor import doctor
from redial.config import load
from redial.operate.doctor import (
    SEVERITIES,
    Look,
    Place,
    Report,
    Row,
    Status,
    Trouble,
    severity,
    worst,
)
from redial.operate.doctor_forms import FORMS, as_json, html, junit, sarif, text, verdict
from redial.paths import CONFIGS
from redial.quoting import visible
from redial.render.findings import NOT_LOOKED_AT, WHO, Priority
from redial.render.renderer import register
from redial.server import address_of
from tests.product.deploy.conftest import status_of

KNOWN = tuple(register(load(CONFIGS / "audit.toml")).findings)
HOSTILE = (
    "<script>alert(1)</script> & 'x' \"y\" [z]] \n NOTHING FLOWS  all well \x1b[2J \x01 \u202e ]]>"
)
HERE = Place("sql1,1433", "shop")
THERE = Place("sql2", HOSTILE)
NOTHING = Row(200, "", "", "", "", "", "", "", "")
OFF = replace(
    NOTHING,
    priority=1,
    title="queue off",
    object=HOSTILE,
    figure=HOSTILE,
    advice=HOSTILE,
    statement=f"EXECUTE x N'{HOSTILE}';",
    who=HOSTILE,
    id="queue-off",
    page="queue-off",
)
LONG = replace(
    NOTHING,
    priority=50,
    title="long queue",
    object="TargetQueue",
    figure="about 100001",
    advice="Readers do not keep up.",
    id="queue-long",
    page="backlog",
)
KNOW = replace(
    NOTHING,
    priority=150,
    title="length of a queue not visible",
    object="shop",
    advice="Know it.",
    id="queue-length-hidden",
)
FIGURE = replace(
    NOTHING, title="messages in a queue", object="TargetQueue", figure="about 3", id="queue-length"
)
UNSEEN = replace(
    NOTHING,
    priority=150,
    title="not looked at",
    object="activation stuck, no queue monitor",
    advice="No right.",
    id=NOT_LOOKED_AT,
)
TIMES = tuple(
    (one.id, 1000) for one in KNOWN if one.id not in ("activation-stuck", "monitor-missing")
)
SEEN = Look(HERE, KNOWN, (LONG, KNOW, FIGURE, UNSEEN), TIMES, 42)
ILL = Look(THERE, KNOWN, (OFF, FIGURE), tuple((one.id, 0) for one in KNOWN), 7)
CUT = Look(Place("sql3", "shop"), KNOWN, trouble=Trouble("it", f"cut {HOSTILE}", "look"))
CLEAN = Look(HERE, KNOWN, (FIGURE,), tuple((one.id, 0) for one in KNOWN), 7)
EVERYTHING = Report("audit", (SEEN, ILL, CUT))


# --- what it comes to --------------------------------------------------------------------------


def test_act_now_is_stronger_than_not_seen_and_that_than_a_warning():
    weakest_first = [Status.CLEAN, Status.WARNINGS, Status.NOT_ALL, Status.ACT_NOW]
    for at, one in enumerate(weakest_first):
        for other in weakest_first[: at + 1]:
            assert worst([one, other]) == worst([other, one]) == one


def test_nothing_looked_at_is_never_clean():
    assert worst([]) == Report("audit", ()).status == Status.NOT_ALL
    assert Report("audit", (CUT,)).status == Status.NOT_ALL
    assert Report("audit", (CLEAN, CUT)).status == Status.NOT_ALL
    assert Report("audit", (CLEAN,)).status == Status.CLEAN


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (OFF, Status.ACT_NOW),
        (replace(OFF, priority=10), Status.ACT_NOW),
        (LONG, Status.WARNINGS),
        (replace(LONG, priority=100), Status.WARNINGS),
        (KNOW, Status.CLEAN),
        (FIGURE, Status.CLEAN),
        (UNSEEN, Status.NOT_ALL),
        (replace(UNSEEN, priority=200), Status.NOT_ALL),
    ],
)
def test_each_priority_has_its_status(row, status):
    assert row.status == replace(CLEAN, rows=(row,)).status == status


def test_every_priority_has_words_also_one_of_a_later_version():
    assert set(SEVERITIES) == set(Priority)
    assert [severity(n) for n in (0, 1, 5, 99, 101, 999)] == [
        *("nothing flows", "nothing flows", "act today", "tidy up", "to know", "figure"),
    ]


def test_a_servers_label_has_no_secret_in_it():
    assert address_of("Driver={x};UID=a;PWD={p;Server=q};Server=tcp:sql1,1433") == "tcp:sql1,1433"
    assert address_of("DSN=shop;PWD=p") == "shop"
    assert address_of("Driver=x;PWD=p") == "a server"


# --- forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_what_is_found_and_what_was_not_looked_at(form):
    said = FORMS[form](EVERYTHING)
    for word in ("long queue", "activation stuck", "No right.", "cut ", "Readers do not keep up."):
        assert word in said, word
    assert said.endswith("\n")


def test_text_has_the_worst_first_and_takes_no_line_and_no_escape_from_a_server():
    said = text(EVERYTHING)
    assert "\x1b" not in said and "\u202e" not in said and "\x01" not in said
    assert said.index("NOTHING FLOWS  queue off") < said.index("LOOK           long queue")
    assert said.index("long queue") < said.index("TO KNOW  ") < said.index("figure   messages")
    assert not any(line.lstrip().startswith("NOTHING FLOWS  all") for line in said.splitlines())
    assert "    run      DECLARE @sql nvarchar(max) = " in said, "a statement that can be copied"
    assert "[sql1,1433, database shop]" in said
    assert (
        said.splitlines()[1] == "  act now: 1 nothing flows, 1 look" == f"  {verdict(EVERYTHING)}"
    )


def test_text_ends_with_what_was_looked_for_and_how_long_it_took():
    said = text(Report("audit", (SEEN,))).splitlines()
    assert said[-1] == (
        f"looked for {len(TIMES)} findings in 42 ms; not looked at: activation stuck, no queue monitor"
    )
    assert text(Report("audit", (CLEAN,))).endswith(f"looked for {len(KNOWN)} findings in 7 ms\n")


def test_text_says_what_to_do_once_for_what_is_found_in_several_things():
    rows = tuple(replace(LONG, object=f"Queue{n}") for n in range(3))
    assert text(Report("audit", (replace(SEEN, rows=rows),))).count("Readers do not keep up.") == 1


def test_what_can_be_read_stays_and_what_cannot_is_written_out():
    assert visible("Größe 消息 <&> 'x'") == "Größe 消息 <&> 'x'"
    assert visible("a\r\n\x1b[0m\u202e") == "a<U+000D><U+000A><U+001B>[0m<U+202E>"


def test_json_has_the_keys_that_are_documented():
    said = json.loads(as_json(EVERYTHING))
    assert list(said) == ["config", "status", "verdict", "places", "findings"]
    assert said["status"] == 3
    seen, ill, cut = said["places"]
    for place in (seen, ill, cut):
        assert list(place) == [
            *("server", "database", "status", "milliseconds"),
            *("looked_for", "not_looked_at", "error"),
        ]
    assert seen["not_looked_at"] == [
        {"titles": "activation stuck, no queue monitor", "figure": "", "why": "No right."}
    ]
    assert cut["error"] == {"what": "it", "why": f"cut {HOSTILE}", "next": "look"}
    assert (seen["status"], ill["status"], cut["status"]) == (4, 3, 4)
    assert [list(each) for each in said["findings"]] == 5 * [
        [
            *("server", "database", "severity", "priority", "title", "object", "figure"),
            *("advice", "statement", "who", "id", "page"),
        ]
    ]
    assert said["findings"][0]["object"] == HOSTILE and said["findings"][0]["id"] == "queue-off"


def test_sarif_has_what_its_schema_asks_for():
    """Of the schema of 2.1.0: what is required of each object, and the values of its lists."""
    log = json.loads(sarif(EVERYTHING))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "redial doctor"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    wanted = {one.id for one in KNOWN if one.priority <= Priority.TO_KNOW} | {NOT_LOOKED_AT}
    assert wanted <= set(ids)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        assert result["ruleId"] in ids and result["message"]["text"]
        assert result["level"] in ("error", "warning", "note")
        (where,) = result["locations"]
        assert where["physicalLocation"]["artifactLocation"]["uri"] == "sql/configs/audit.toml"
        assert where["logicalLocations"][0]["fullyQualifiedName"]
    (done,) = run["invocations"]
    assert done == {"executionSuccessful": False, "exitCode": 3}
    assert json.loads(sarif(Report("audit", (CLEAN,))))["runs"][0]["invocations"] == [
        {"executionSuccessful": True, "exitCode": 0}
    ]


def test_sarif_has_a_result_for_each_fault_and_none_for_a_figure():
    (run,) = json.loads(sarif(EVERYTHING))["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("queue-off", "error"),
        ("queue-long", "warning"),
        ("queue-length-hidden", "note"),
        (NOT_LOOKED_AT, "warning"),
        (NOT_LOOKED_AT, "warning"),
    ]
    assert "Run, as " in run["results"][0]["message"]["text"]
    prints = [one["partialFingerprints"]["redialFinding/v1"] for one in run["results"]]
    assert len(set(prints)) == len(prints)


def test_sarif_knows_the_rule_of_a_finding_of_another_version():
    later = replace(SEEN, rows=(replace(LONG, id="new-one", title="new"),))
    (run,) = json.loads(sarif(Report("audit", (later,))))["runs"]
    assert "new-one" in {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_junit_has_a_test_for_each_finding_in_each_database():
    suites = ElementTree.fromstring(junit(EVERYTHING).encode())
    assert suites.tag == "testsuites"
    seen, ill, cut = suites.findall("testsuite")
    for suite in (seen, ill, cut):
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases) == len(KNOWN) + 1
        assert len({case.get("name") for case in cases}) == len(cases)
        assert all(case.get("classname").startswith("redial.audit.") for case in cases)
    counts = [tuple(int(s.get(k)) for k in ("failures", "errors", "skipped")) for s in suites]
    assert counts == [(1, 0, 2), (1, 0, 0), (0, 1, len(KNOWN))]
    (failed,) = [case for case in ill if case.find("failure") is not None]
    assert failed.get("name") == "queue-off"
    assert "<script>alert(1)</script>" in failed.find("failure").get("message")
    skipped = {case.get("name") for case in seen if case.find("skipped") is not None}
    assert skipped == {"activation-stuck", "monitor-missing"}
    assert "No right." in seen.findtext("system-out")
    (case,) = [case for case in seen if case.get("name") == "queue-long"]
    assert case.get("time") == "1.000"


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_html_is_one_page_of_its_own_in_which_no_name_is_markup():
    page = Tags()
    page.feed(html(EVERYTHING))
    own = "html meta title style h1 h2 p strong table tr td th pre"
    assert page.seen == set(own.split())
    assert {name for name, _ in page.attributes} == {"lang", "charset"}
    assert "<script>alert(1)</script> & 'x' \"y\"" in page.text and "\x01" not in page.text
    for words in ("Not looked at", "Looked at", "queue off", "nothing flows", "database shop"):
        assert words in page.text


def test_who_may_run_it_is_said_of_every_kind():
    assert {one.who for one in KNOWN} <= {who.format(role="audit_operator") for who in WHO.values()}


# --- the command -------------------------------------------------------------------------------


@pytest.mark.driver
@pytest.mark.parametrize("form", FORMS)
def test_out_takes_the_form_and_the_terminal_text(form, site, tmp_path, capsys):
    file = tmp_path / "report"
    assert status_of(doctor, servers=[site.server], form=form, out=str(file)) == 0
    assert capsys.readouterr().out.startswith("doctor: configuration audit, ")
    written = file.read_text("utf-8")
    assert status_of(doctor, servers=[site.server], form=form) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == written.splitlines()[0]
    read = {
        "json": json.loads,
        "sarif": json.loads,
        "junit": lambda s: ElementTree.fromstring(s.encode()),
    }
    for said in (written, printed):
        assert read.get(form, str)(said)


@pytest.mark.driver
def test_a_server_that_does_not_answer_is_said_beside_a_form_no_person_reads(capsys, monkeypatch):
    monkeypatch.setattr("redial.deploy.port.CONNECT_SECONDS", 1)
    nobody = "Server=127.0.0.1,1;Database=shop;UID=a;PWD=b"
    assert status_of(doctor, servers=[nobody], form="json") == Status.NOT_ALL
    out, err = capsys.readouterr()
    assert json.loads(out)["places"][0]["error"]["next"].startswith("check that the server runs")
    assert "127.0.0.1,1, database shop: " in err and "Next: " in err

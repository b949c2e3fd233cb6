"""The picture of a trace: one file, nothing loaded, everything in it."""

from __future__ import annotations

import re

import pytest
from lxml import html

from redial_lab.explore import Limits, search
from redial_lab.explore.trace_files import evidence, slug
from tests.lab.explore.test_traces import crossing

NOTHING_IS_LOADED = re.compile(r"""(?:src|href)\s*=|@import|https?:|url\((?!#)""", re.IGNORECASE)


@pytest.fixture(scope="module")
def shown():
    scenario = crossing()
    result = search(scenario, Limits(until="deadlock"))
    return evidence(scenario, result.violations["deadlock"], "invoke explore --scenario crossing")


def drawn(shown) -> list:
    return html.fromstring(shown.html).xpath("//svg")


def test_a_picture_loads_nothing_and_is_small(shown):
    assert NOTHING_IS_LOADED.findall(shown.html.partition("<details>")[0]) == []
    assert "<script" not in shown.html
    assert len(shown.html.encode()) < 300_000


def test_it_is_read_in_the_dark_and_on_paper(shown):
    assert "prefers-color-scheme: dark" in shown.html
    assert "@media print" in shown.html


def test_each_session_has_a_lane_and_each_step_a_box_with_its_statement(shown):
    sequence = drawn(shown)[0]
    names = [text.text for text in sequence.xpath("text[@class='name']")]
    assert names == ["window 1", "T1", "window 2", "T2"]
    boxes = sequence.xpath("g[rect]")
    assert len(boxes) == len(shown.trace.steps) + 1
    assert "UPDATE dbo.Account" in boxes[0].xpath("title")[0].text


def test_waits_are_dashed_and_the_victim_is_red(shown):
    sequence = drawn(shown)[0]
    waits = [g.text for g in sequence.xpath("g[line[@class='span']]/title")]
    assert len(waits) == 2
    assert all(text.startswith("waits for X KEY Account.PK") for text in waits)
    assert len(sequence.xpath("g/line[@marker-end]")) == 2
    assert len(sequence.xpath("g/rect[@class='victim']")) == 1


def test_the_lock_graph_is_the_cycle(shown):
    graph = drawn(shown)[1]
    assert [line.get("class") for line in graph.xpath("line")].count("holds") == 2
    assert [line.get("class") for line in graph.xpath("line")].count("asks") == 2
    assert len(graph.xpath("g/rect[@class='resource']")) == 2
    assert len(graph.xpath("g/rect[@class='victim']")) == 1


def test_a_fault_is_marked():
    def gone(world) -> list[str]:
        return ["T1 is gone"] if 0 in world.progress.killed else []

    scenario = crossing(kills=1, at_the_end=gone)
    found = search(scenario, Limits(until="T1 is gone")).violations["T1 is gone"]
    sequence = drawn(evidence(scenario, found))[0]
    [fault] = sequence.xpath("g[rect[@class='fault']]")
    assert "T1 is killed" in fault.xpath("title")[0].text


def test_what_is_saved_says_how_it_was_played_and_how_to_replay_it(shown, tmp_path):
    files = shown.save(tmp_path, "crossing transfers")
    assert [path.name for path in files] == [
        f"crossing-transfers.deadlock.{suffix}" for suffix in ("txt", "html", "sql")
    ]
    assert shown.met
    said = "played on the embedded broker by 2 sessions: meets 'deadlock'"
    assert said in files[0].read_text()
    assert said.capitalize() in files[2].read_text()
    assert f"--scenario crossing --replay {shown.trace.seed}" in files[1].read_text()


def test_a_name_for_a_file_has_nothing_a_shell_minds():
    assert slug("lookup_hint none, 2 callers: 'x'") == "lookup_hint-none-2-callers-x"


def test_what_stands_in_a_statement_is_text_and_no_markup():
    scenario = crossing()
    scenario.name = "1 < 2 & <b>bold</b>"
    found = search(scenario, Limits(until="deadlock")).violations["deadlock"]
    text = evidence(scenario, found).html
    assert "1 &lt; 2 &amp; &lt;b&gt;bold&lt;/b&gt;" in text
    assert "<b>bold" not in text

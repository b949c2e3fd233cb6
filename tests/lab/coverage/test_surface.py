"""The constructs public scripts use: each example runs, or is refused by name; nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from redial_lab.pages.coverage.examples import (
    FAILS,
    REFUSED,
    RUNS,
    Outcome,
    lists,
    more,
    run,
    script,
    setups,
    surface,
)
from tests import oracle

SECTIONS = list(dict.fromkeys(example.section for example in surface()))


@pytest.mark.parametrize("section", SECTIONS)
def test_every_example_runs_or_is_refused_by_name(section):
    outcomes = {e.name: run(e) for e in surface() if e.section == section}
    assert {n: o for n, o in outcomes.items() if o.status not in {RUNS, REFUSED}} == {}


def test_what_the_sheet_counted_is_all_there():
    assert len(surface()) >= 485
    assert sum(example.sets >= 2 for example in surface()) >= 256


def test_a_name_stands_once_in_its_section():
    counts = Counter((example.section, example.name) for example in surface())
    assert [name for name, times in counts.items() if times > 1] == []


def test_a_wrong_answer_is_a_failure():
    example = next(e for e in surface() if e.name == "WHILE" and e.answer == 3)
    assert run(replace(example, answer=4)) == Outcome(FAILS, "answers 3, not 4")


def test_an_error_of_the_server_is_a_failure_with_its_number():
    outcome = run(replace(surface()[0], sql="SELECT 1 / 0;"))
    assert (outcome.status, outcome.number) == (FAILS, 8134)


def test_an_example_that_waits_for_ever_is_a_failure():
    outcome = run(
        replace(surface()[0], setup="services", sql="WAITFOR (RECEIVE * FROM dbo.ToQueue);")
    )
    assert outcome == Outcome(FAILS, "does not come to an end")


def test_a_prologue_stands_in_the_first_batch_only():
    example = replace(surface()[0], setup="xml", sql="SELECT @x;\nGO\nSELECT 1;")
    first, second = script(example)
    assert setups()["xml"].prologue.strip() in first and "@x" not in second


NEWER_THAN_THE_ORACLE = {
    "IS DISTINCT FROM": "2022",
    "JSON_OBJECT, JSON_ARRAY": "2022",
    "DISABLE_OPTIMIZED_PLAN_FORCING": "2022",
    "WINDOW clause": "2022",
    "ACCELERATED_DATABASE_RECOVERY = OFF": "2019, unknown to ScriptDom",
    "ACCELERATED_DATABASE_RECOVERY = ON": "2019, unknown to ScriptDom",
    "ALTER QUEUE REBUILD": "unknown to ScriptDom",
    "ALTER QUEUE REORGANIZE": "unknown to ScriptDom",
    "ALTER QUEUE MOVE TO": "unknown to ScriptDom",
}
"""What Microsoft documents and ScriptDom 150 does not take."""


@pytest.mark.oracle
def test_microsofts_parser_takes_every_example(tmp_path):
    oracle.fetched()
    names = {}
    others = [example for example in (*more(), *lists()) if run(example).status == RUNS]
    accepted = [*surface(), *others]
    for number, example in enumerate(accepted):
        names[f"{number}.sql"] = example.name
        (tmp_path / f"{number}.sql").write_text("\nGO\n".join(script(example)), encoding="utf-8")
    judged = oracle.judged(*names, folder=tmp_path)
    refused = {names[line.split(":", 1)[0]]: line for line in judged.stdout.splitlines()}
    assert {n: line for n, line in refused.items() if n not in NEWER_THAN_THE_ORACLE} == {}

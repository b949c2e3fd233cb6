"""The register of findings: each has a scenario that makes it, sees it alone, mends it and sees it gone."""

from __future__ import annotations

import pytest

from redial.render.findings import Priority, heads
from redial.render.renderer import register
from tests.product.sql.lab import Lab

from . import (
    faults_of_conversations,
    faults_of_data,
    faults_of_database,
    faults_of_jobs,
    faults_of_messages,
    faults_of_queues,
)
from .scenario import AS, OPS, Row, Scenario, deploy, do, ids, report, sent

PLACES = (
    faults_of_database,
    faults_of_queues,
    faults_of_messages,
    faults_of_conversations,
    faults_of_data,
    faults_of_jobs,
)
SCENARIOS: dict[str, Scenario] = {
    name: scenario for places in PLACES for name, scenario in places.SCENARIOS.items()
}

ELSEWHERE = {"migration-missing": "test_usp_Health.py: no version has a migration yet"}
"""Findings whose story needs a version that is made up."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_is_seen_alone_mended_by_its_advice_and_gone(name):
    scenario = SCENARIOS[name]
    id = name.partition(":")[0]
    # 1. Before, nothing is wrong.
    lab = Lab(scenario.config, **scenario.switches)
    do(lab, scenario.begins)
    lab.advance(5)
    lab.sa.execute(OPS)
    do(lab, scenario.before)
    assert ids(lab) == set()
    # 2. The fault is found, and no other.
    do(lab, scenario.fault)
    lab.advance(scenario.after)
    assert ids(lab) == {id} | scenario.also
    found = [row for row in report(lab) if row.id == id]
    # 3. Who the report names does what it says.
    do(lab, scenario.first)
    mend(lab, scenario, found)
    lab.advance(scenario.rest)
    # 4. It is gone, and so is what came with it.
    assert ids(lab) <= scenario.stays


def mend(lab: Lab, scenario: Scenario, found: list[Row]) -> None:
    """What the advice says, as who it says."""
    if scenario.mend is not None:
        do(lab, scenario.mend)
        return
    for row in found:
        if row.statement:
            do(lab, row.statement, AS.get(row.who, ""))
        else:
            assert row.who == "whoever deploys", row
    if found[0].who == "whoever deploys":
        deploy(lab)


def test_every_finding_has_a_scenario():
    """A figure is no fault: it is always there."""
    faults = {head.id for head in heads() if head.priority < Priority.TO_KNOW}
    tried = {name.partition(":")[0] for name in SCENARIOS} | ELSEWHERE.keys()
    assert faults - tried == set()
    assert tried - faults == set()


def test_a_healthy_installation_has_figures_only():
    lab = Lab()
    sent("0x01")(lab)
    lab.advance(5)
    rows = report(lab)
    assert {row.priority for row in rows} == {Priority.FIGURE}
    assert all(row.advice and row.statement is None and row.who == "" for row in rows)
    assert lab.rows("DECLARE @r int; EXECUTE @r = audit.usp_Health; SELECT @r;") == [(200,)]


def test_debug_prints_what_each_finding_costs():
    lab = Lab()
    lab.rows("EXECUTE audit.usp_Health @Debug = 1;")
    printed = [m.text.partition(":")[0] for m in lab.sa.out.messages if m.text.endswith(" ms")]
    said = register(lab.config)
    assert printed == [
        *(f"gathering {one.id}" for one in said.looks),
        *(one.id for one in said.findings),
    ]

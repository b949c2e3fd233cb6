"""usp_CheckHealth: usp_Health for a job, which fails when something is wrong."""

from __future__ import annotations

import pytest

from tests.installed import rendered

from .agent import AGENT, jobs, run
from .lab import Lab, configured

CHECK = "EXECUTE audit.usp_CheckHealth"


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    return lab


def test_a_healthy_installation_passes(lab):
    assert lab.rows("DECLARE @r int; EXECUTE @r = audit.usp_CheckHealth; SELECT @r;") == [(0,)]


def test_what_could_not_be_looked_at_is_shown_and_printed_and_fails_nothing(lab):
    """A job runs as a user of the database, who has no right on the server: it must not look well."""
    unseen = lab.rows(f"EXECUTE AS USER = N'ops'; {CHECK}; REVERT;")
    assert {(priority, finding) for priority, finding, *_ in unseen} == {(150, "not looked at")}
    monitors, sessions = (of for _, _, of, *_ in unseen)
    assert monitors.startswith("activation stuck, no queue monitor, ")
    assert sessions == "somebody keeps others waiting, transaction open for long"
    said, _ = (m.text for m in lab.sa.out.messages if m.severity <= 10)
    assert said.startswith("Not looked at: activation stuck, ")
    assert lab.rows(f"{CHECK};") == []


def test_what_is_wrong_fails_it_and_is_named(lab):
    lab.sa.execute(
        "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF; UPDATE audit.Gate SET IsOpen = 0;"
    )
    assert lab.sa.fail(f"{CHECK};") == 50290
    text = lab.sa.errors[0].text
    assert text.startswith(
        "Configuration audit: queue off, TargetQueue. gate closed, audit (since "
    )
    assert "EXECUTE [audit].[usp_Health];" in text
    assert [row[1] for row in lab.sa.out.result_sets[0].rows] == ["queue off", "gate closed"]


def test_how_bad_it_must_be_is_the_callers_choice(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;")
    lab.sa.execute(f"{CHECK};")
    assert lab.sa.fail(f"{CHECK} @failAt = 50;") == 50290
    assert "RETENTION ON" in lab.sa.errors[0].text
    for wrong in ("0", "200", "NULL"):
        assert lab.sa.fail(f"{CHECK} @failAt = {wrong};") == 50291


def test_a_job_runs_it_where_there_is_an_agent_unless_the_configuration_says_no():
    for minutes, there in ((7, True), (0, False)):
        config = configured(operations={"agent_job": True, "health_minutes": minutes})
        lab = Lab(config)
        lab.sa.execute("USE msdb;")
        run(lab, AGENT)
        lab.sa.execute("USE lab;")
        run(lab, rendered(config)["92_agent_jobs.job.sql"])
        found = jobs(lab).get("Redial audit: health, lab")
        assert (found is not None) == there
        if found:
            assert found == ("EXECUTE [audit].[usp_CheckHealth];", "4/7/0")

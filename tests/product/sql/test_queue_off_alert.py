"""operations.alert_queue_off: an Agent alert starts the health job when a queue goes off (F-489).

The embedded broker has neither Agent nor WMI; a stand-in for msdb's procedures writes down the call.
"""

import pytest
from pydantic import ValidationError

from tests.installed import rendered, split

from .agent import AGENT, jobs, run
from .lab import Lab, configured
from .test_agent_jobs import CLEANUP

WITH = configured(operations={"agent_job": True, "alert_queue_off": True})
WITHOUT = configured(operations={"agent_job": True})
JOBS, SCRIPT = "92_agent_jobs.job.sql", "92_queue_off.job.sql"
ALERT = "Redial audit: queue off, lab"
ALERTS = """
CREATE TABLE dbo.sysalerts (name nvarchar(128) PRIMARY KEY, job nvarchar(128), place nvarchar(200),
    query nvarchar(512));
GO
CREATE PROCEDURE dbo.sp_add_alert @name nvarchar(128), @job_name nvarchar(128),
    @delay_between_responses int, @wmi_namespace nvarchar(128), @wmi_query nvarchar(512) AS
IF NOT EXISTS (SELECT 1 FROM dbo.jobs WHERE name = @job_name)
    THROW 51262, N'no such job', 1;
INSERT INTO dbo.sysalerts VALUES (@name, @job_name, @wmi_namespace, @wmi_query);
GO
CREATE PROCEDURE dbo.sp_delete_alert @name nvarchar(128) AS
DELETE FROM dbo.sysalerts WHERE name = @name;
IF @@ROWCOUNT = 0 THROW 51426, N'no such alert', 1;
GO
"""
OWNED = "SELECT Name FROM audit.OwnedObject WHERE Kind = N'AGENT ALERT';"


def made() -> Lab:
    """Deployed on an instance with the stand-in, jobs and all."""
    lab = Lab(WITH)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT + ALERTS)
    lab.sa.execute("USE lab;")
    run(lab, rendered(WITH)[JOBS])
    return lab


def alerts(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT name, job, place, query FROM msdb.dbo.sysalerts;")


def test_the_alert_starts_the_health_job_and_is_made_once():
    lab = made()
    for _ in range(2):
        assert run(lab, rendered(WITH)[SCRIPT]) == []
        assert alerts(lab) == [
            (
                ALERT,
                "Redial audit: health, lab",
                r"\\.\root\Microsoft\SqlServer\ServerEvents\MSSQLSERVER",
                "SELECT * FROM BROKER_QUEUE_DISABLED",
            )
        ]
    assert lab.rows(OWNED) == [(ALERT,)]
    assert "Redial audit: health, lab" in jobs(lab)


def test_without_an_agent_it_says_what_finds_the_queue_instead():
    lab = Lab(WITH)
    (said,) = run(lab, rendered(WITH)[SCRIPT])
    assert said.startswith(f'Alert "{ALERT}" not made: ') and "every 15 minutes" in said
    assert lab.rows(OWNED) == []


def test_the_embedded_broker_refuses_the_call_by_name():
    lab = Lab(WITH)
    lab.sa.submit("EXECUTE msdb.dbo.sp_add_alert @name = N'x';")
    assert ["sp_add_alert" in error.text for error in lab.sa.errors] == [True]


def test_what_msdb_refuses_is_told_and_leaves_nothing():
    lab = made()
    lab.sa.execute("DELETE FROM msdb.dbo.jobs;")
    (said,) = run(lab, rendered(WITH)[SCRIPT])
    assert "not made: no such job" in said
    assert alerts(lab) == [] and lab.rows(OWNED) == []


def test_somebody_elses_alert_of_the_name_is_left_alone():
    lab = made()
    lab.sa.execute(f"INSERT INTO msdb.dbo.sysalerts (name) VALUES (N'{ALERT}');")
    (said,) = run(lab, rendered(WITH)[SCRIPT])
    assert "was not made by this configuration" in said
    run(lab, rendered(WITHOUT)[CLEANUP])
    assert [name for name, *_ in alerts(lab)] == [ALERT]


def test_it_goes_with_the_choice_and_with_uninstall_and_stays_while_it_is_chosen():
    lab = made()
    run(lab, rendered(WITH)[SCRIPT] + rendered(WITH)[CLEANUP])
    assert len(alerts(lab)) == 1
    run(lab, rendered(WITHOUT)[CLEANUP])
    assert alerts(lab) == [] and lab.rows(OWNED) == []
    assert "Redial audit: health, lab" in jobs(lab)
    run(lab, rendered(WITH)[SCRIPT])
    for batch in split(rendered(WITH)["uninstall.sql"]):
        lab.sa.submit(batch.sql)
        lab.advance(30)
        assert lab.sa.out.finished and not lab.sa.errors, lab.sa.errors
    assert alerts(lab) == [] and jobs(lab) == {}


@pytest.mark.parametrize("operations", [{}, {"agent_job": True, "health_minutes": 0}])
def test_without_a_health_job_the_choice_is_refused_and_says_what_is_allowed(operations):
    data = configured(operations={"alert_queue_off": True, **operations}).model_dump(
        by_alias=True, mode="json"
    )
    with pytest.raises(ValidationError, match=r"operations\.alert_queue_off: .*; allowed: "):
        type(WITH).model_validate(data)


def test_without_the_choice_there_is_no_script():
    assert SCRIPT not in rendered(WITHOUT)

"""Scenarios of Agent jobs. The embedded broker has no Agent: see ``tests.product.sql.agent``."""

from __future__ import annotations

from tests.installed import rendered
from tests.product.sql.agent import AGENT, run
from tests.product.sql.lab import Lab, configured

from .scenario import Scenario

CONFIG = configured(operations={"agent_job": True, "retire_minutes": 5})
RAN = (
    "UPDATE msdb.dbo.sysjobservers SET last_run_outcome = {}, "
    "last_run_date = CONVERT(int, CONVERT(nvarchar(8), GETDATE(), 112)), last_run_time = "
    "CONVERT(int, REPLACE(CONVERT(nvarchar(8), GETDATE(), 108), N':', N'')){};"
)


def jobs(lab: Lab) -> None:
    """An Agent that has just run each."""
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute("USE lab;")
    run(lab, rendered(CONFIG)["92_agent_jobs.job.sql"])
    lab.sa.execute(RAN.format(1, ""))


SCENARIOS = {
    "job-late": Scenario("", before=jobs, after=3 * 86_400, config=CONFIG, mend=RAN.format(1, "")),
    "job-failed": Scenario(
        RAN.format(
            0, " WHERE job_id = (SELECT job_id FROM msdb.dbo.sysjobs WHERE name LIKE N'%retire%')"
        ),
        before=jobs,
        config=CONFIG,
        mend=RAN.format(1, ""),
    ),
    "job-missing": Scenario(
        "DELETE FROM msdb.dbo.jobs WHERE name = N'Redial audit: retire, lab';",
        before=jobs,
        config=CONFIG,
    ),
}

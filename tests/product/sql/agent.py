"""A stand-in for SQL Server Agent: msdb's procedures as they are documented, and who runs a job.

The embedded broker has neither. What is here is what our jobs rest on: steps with their actions, the
owner a step runs as, a history, an Agent that stands (pages sp_add_jobstep, sp_delete_jobstep,
sysjobhistory).
"""

from __future__ import annotations

import re

from tests.installed import split

from .lab import Client, Lab

AGENT = """
CREATE TABLE dbo.jobs (name nvarchar(128) PRIMARY KEY, schedule nvarchar(200),
    description nvarchar(512), owner nvarchar(128), told nvarchar(200),
    job_id uniqueidentifier NOT NULL DEFAULT NEWID(), date_created datetime NOT NULL DEFAULT GETDATE(),
    enabled tinyint NOT NULL DEFAULT 1);
CREATE TABLE dbo.sysjobservers (job_id uniqueidentifier PRIMARY KEY, last_run_outcome tinyint,
    last_run_date int, last_run_time int);
CREATE TABLE dbo.steps (job nvarchar(128), step_id int, database_name nvarchar(128),
    command nvarchar(max), on_success int, on_fail int, PRIMARY KEY (job, step_id));
CREATE TABLE dbo.history (instance_id int IDENTITY PRIMARY KEY, job nvarchar(128), step_id int,
    run_status int, message nvarchar(4000));
GO
CREATE VIEW dbo.sysjobs_view AS
SELECT name, description, enabled, SUSER_SID(owner) AS owner_sid FROM dbo.jobs;
GO
CREATE VIEW dbo.sysjobs AS SELECT job_id, name, enabled, date_created FROM dbo.jobs;
GO
CREATE PROCEDURE dbo.sp_add_job @job_name nvarchar(128), @owner_login_name nvarchar(128),
    @description nvarchar(512) AS
DELETE FROM dbo.steps WHERE job = @job_name;
INSERT INTO dbo.jobs (name, owner, description) VALUES (@job_name, @owner_login_name, @description);
GO
CREATE PROCEDURE dbo.sp_add_jobstep @job_name nvarchar(128), @step_id int, @step_name nvarchar(128),
    @subsystem nvarchar(40), @database_name nvarchar(128), @command nvarchar(max),
    @on_success_action int = 1, @on_fail_action int = 2 AS
INSERT INTO dbo.steps VALUES
    (@job_name, @step_id, @database_name, @command, @on_success_action, @on_fail_action);
GO
CREATE PROCEDURE dbo.sp_delete_jobstep @job_name nvarchar(128), @step_id int AS
DELETE FROM dbo.steps WHERE job = @job_name AND step_id = ISNULL(NULLIF(@step_id, 0), step_id);
GO
CREATE PROCEDURE dbo.sp_add_jobschedule @job_name nvarchar(128), @name nvarchar(128),
    @freq_type int, @freq_interval int, @freq_subday_type int, @freq_subday_interval int = 0,
    @active_start_time int = 0 AS
UPDATE dbo.jobs
SET schedule = CONCAT(@freq_subday_type, N'/', @freq_subday_interval, N'/', @active_start_time)
WHERE name = @job_name;
GO
CREATE PROCEDURE dbo.sp_update_jobschedule @job_name nvarchar(128), @name nvarchar(128),
    @freq_type int, @freq_interval int, @freq_subday_type int, @freq_subday_interval int = 0,
    @active_start_time int = 0 AS
EXECUTE dbo.sp_add_jobschedule @job_name, @name, @freq_type, @freq_interval, @freq_subday_type,
    @freq_subday_interval, @active_start_time;
GO
CREATE PROCEDURE dbo.sp_update_job @job_name nvarchar(128), @notify_level_email int,
    @notify_email_operator_name nvarchar(128) AS
IF @notify_email_operator_name NOT LIKE N'%on duty'
    THROW 51234, N'no such operator', 1;
UPDATE dbo.jobs SET told = CONCAT(@notify_level_email, N': ', @notify_email_operator_name)
WHERE name = @job_name;
GO
CREATE PROCEDURE dbo.sp_add_jobserver @job_name nvarchar(128), @server_name nvarchar(128) AS
INSERT INTO dbo.sysjobservers SELECT job_id, 5, 0, 0 FROM dbo.jobs WHERE name = @job_name;
GO
CREATE PROCEDURE dbo.sp_delete_job @job_name nvarchar(128) AS
DELETE FROM dbo.jobs WHERE name = @job_name;
IF @@ROWCOUNT = 0 THROW 51426, N'no such job', 1;
DELETE FROM dbo.steps WHERE job = @job_name;
GO
"""


def run(lab: Lab, sql: str) -> list[str]:
    """Every batch; what was printed."""
    printed = []
    for batch in split(sql):
        lab.sa.execute(batch.sql)
        printed += [m.text for m in lab.sa.out.messages if m.severity <= 10]
    return printed


def jobs(lab: Lab) -> dict[str, tuple[str, str]]:
    """By name: what the one step does in the database, and the schedule."""
    found = lab.rows(
        "SELECT j.name, s.command, j.schedule FROM msdb.dbo.jobs AS j "
        "INNER JOIN msdb.dbo.steps AS s ON s.job = j.name;"
    )
    return {name: (_work(command), schedule) for name, command, schedule in found}


def _work(command: str) -> str:
    """Of a step's text, the statement behind who it runs as."""
    found = re.search(r" EXECUTE AS USER = N''.*?''; (.*)';$", command, re.MULTILINE)
    return found[1].replace("''", "'") if found else command


class Agent:
    """Runs jobs as SQL Server Agent does, or stands."""

    def __init__(self, lab: Lab, *, running: bool = True) -> None:
        self.lab = lab
        self.running = running
        self.client = Client(lab, "master")

    def start(self, job: str) -> bool | None:
        """Whether the job ended with success; None where the Agent stands."""
        if not self.running:
            return None
        ((owner,),) = self.client.execute(f"SELECT owner FROM msdb.dbo.jobs WHERE name = N'{job}';")
        if self.client.value(f"SUSER_SID(N'{owner}')") is None:
            self._note(job, 0, 0, f"Unable to determine if the owner ({owner}) has server access.")
            return False
        step = 1
        while True:
            ((database, command, success, fail),) = self.client.execute(
                "SELECT database_name, command, on_success, on_fail "
                f"FROM msdb.dbo.steps WHERE job = N'{job}' AND step_id = {step};"
            )
            worked = self._step(job, step, owner, f"USE [{database}];", command)
            action = success if worked else fail
            if action in (1, 2):
                self._note(job, 0, int(action == 1), "")
                return action == 1
            step += 1

    def history(self, job: str) -> list[str]:
        """The messages of the steps so far, or of the job that did not start."""
        found = self.client.execute(
            f"SELECT message FROM msdb.dbo.history WHERE job = N'{job}' AND message <> N'' "
            "ORDER BY instance_id;"
        )
        return [message for (message,) in found]

    def _step(self, job: str, step: int, owner: str, enter: str, command: str) -> bool:
        """Run as the owner, or where that is a sysadmin as the Agent itself."""
        client = Client(self.lab, "master")
        statements = [enter, command]
        if not client.value(f"IS_SRVROLEMEMBER(N'sysadmin', N'{owner}')"):
            statements.insert(0, f"EXECUTE AS LOGIN = N'{owner}';")
        for statement in statements:
            client.submit(statement)
            said = " ".join(m.text for m in client.out.messages)
            if not client.out.finished or client.errors:
                break
        worked = client.out.finished and not client.errors
        self.lab.instance.disconnect(client.session)
        self._note(job, step, int(worked), said or "The step succeeded.")
        return worked

    def _note(self, job: str, step: int, status: int, message: str) -> None:
        text = message.replace("'", "''")
        self.client.execute(
            "INSERT INTO msdb.dbo.history (job, step_id, run_status, message) "
            f"VALUES (N'{job}', {step}, {status}, N'{text}');"
        )
        if step == 0:
            self.client.execute(
                f"UPDATE s SET last_run_outcome = {status}, "
                "last_run_date = CONVERT(int, CONVERT(char(8), GETDATE(), 112)), "
                "last_run_time = DATEPART(hour, GETDATE()) * 10000 "
                "+ DATEPART(minute, GETDATE()) * 100 + DATEPART(second, GETDATE()) "
                "FROM msdb.dbo.sysjobservers AS s "
                f"INNER JOIN msdb.dbo.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'{job}';"
            )

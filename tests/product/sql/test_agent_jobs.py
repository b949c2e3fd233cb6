"""Agent jobs: made where there is an Agent, told about where there is none, removed by uninstall.

The embedded broker has no Agent: see ``agent`` for the stand-in.
"""

import pytest

from redial.config import load
from redial.deploy import verify
from redial.deploy.verify import look
from redial.paths import CONFIGS
from redial_broker.exec import replicas
from redial_broker.exec.objects import CATALOG_FUNCTIONS
from tests.choices import PLAIN, WITHOUT_ROWS, usual_recycle
from tests.installed import rendered, split
from tests.product.deploy.inside import Connection

from .agent import AGENT, Agent, jobs, run
from .bare import installer
from .lab import Lab, configured

CONFIG = configured(
    operations={"agent_job": True, "retire_minutes": 5},
    retention={"landing_days": 30, "log_days": 60, "dead_letter_days": 90},
)
SCRIPT = "92_agent_jobs.job.sql"


@pytest.fixture
def agent():
    """A deployed configuration on an instance with the stand-in."""
    lab = Lab(CONFIG)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute("USE lab;")
    run(lab, rendered(CONFIG)[SCRIPT])
    return lab


def test_without_an_agent_it_says_what_to_schedule_instead():
    lab = Lab(CONFIG)
    printed = run(lab, rendered(CONFIG)[SCRIPT])
    assert any("every 5 minutes" in p and "[usp_RetireIdle] @WhatIf = 0;" in p for p in printed)
    assert any("once a day" in p and "usp_PurgeDeadLetter" in p for p in printed)
    assert lab.rows("SELECT 1 FROM audit.OwnedObject WHERE Kind = N'AGENT JOB';") == []


def test_a_job_per_task_runs_the_procedure_in_this_database(agent):
    found = jobs(agent)
    step, schedule = found["Redial audit: retire, lab"]
    assert step == "EXECUTE [audit].[usp_RetireIdle] @WhatIf = 0;"
    assert schedule == "4/5/0"
    assert found["Redial audit: purge dead letters, lab"][1] == "1/0/31000"


def test_deploying_again_changes_nothing_and_a_new_choice_the_schedule_only(agent):
    before = jobs(agent)
    run(agent, rendered(CONFIG)[SCRIPT])
    assert jobs(agent) == before
    changed = configured(operations={"agent_job": True, "retire_minutes": 20})
    run(agent, rendered(changed)[SCRIPT])
    assert jobs(agent)["Redial audit: retire, lab"][1] == "4/20/0"


def test_an_operator_is_told_of_every_job_that_fails(agent):
    told = configured(operations={"agent_job": True, "alert_operator": "who's on duty"})
    assert run(agent, rendered(told)[SCRIPT]) == []
    tasks = ("retire", "health")
    names = ", ".join(f"N'Redial audit: {task}, lab'" for task in tasks)
    found = agent.rows(f"SELECT told FROM msdb.dbo.jobs WHERE name IN ({names});")
    assert found == [("2: who's on duty",)] * len(tasks)


def test_an_operator_who_is_not_there_costs_no_job_and_is_named(agent):
    nobody = configured(operations={"agent_job": True, "alert_operator": "nobody"})
    printed = run(agent, rendered(nobody)[SCRIPT])
    assert all(
        "no such operator" in p and "sp_add_operator @name = N'nobody'" in p for p in printed
    )
    assert len(printed) > 1 and "Redial audit: health, lab" in jobs(agent)


def test_uninstall_removes_the_jobs(agent):
    for batch in split(rendered(CONFIG)["uninstall.sql"]):
        agent.sa.submit(batch.sql)
        agent.advance(30)
        assert agent.sa.out.finished and not agent.sa.errors, agent.sa.errors
    assert jobs(agent) == {}


def test_every_command_of_a_job_is_safe_to_run_at_any_time(agent):
    for command, _ in jobs(agent).values():
        for _ in range(2):
            agent.sa.submit(command)
            assert [e.number for e in agent.sa.errors] in ([], [50180]), command


def test_without_the_choice_there_is_no_script():
    assert SCRIPT not in rendered(configured())


def test_a_job_msdb_refuses_is_told_about_and_never_ours_to_delete():
    """A job of this name that belongs to somebody else: msdb raises 14261 and goes on."""
    lab = Lab(CONFIG)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    run(
        lab,
        "ALTER PROCEDURE dbo.sp_add_job @job_name nvarchar(128), "
        "@owner_login_name nvarchar(128), @description nvarchar(512) "
        "AS RAISERROR(N'The specified @name already exists.', 16, 1); RETURN 1;",
    )
    lab.sa.execute("USE lab;")
    printed = run(lab, rendered(CONFIG)[SCRIPT])
    assert any("already exists" in p and "[usp_RetireIdle] @WhatIf = 0;" in p for p in printed)
    assert lab.rows("SELECT 1 FROM audit.OwnedObject WHERE Kind = N'AGENT JOB';") == []
    assert jobs(lab) == {}


CLEANUP = "88_earlier.cleanup.sql"


def test_a_job_of_an_earlier_choice_goes_with_what_it_called(agent):
    """usp_RetireIdle is not there with key = message: its job would fail every five minutes."""
    message = configured(
        operations={"agent_job": True},
        conversation={"key": "message", "recycle": "never"},
        retention={"landing_days": 30, "log_days": 60, "dead_letter_days": 90},
    )
    before = set(jobs(agent))
    assert "usp_ResendStranded" not in str(jobs(agent)), "usp_RetireIdle calls it"
    run(agent, rendered(message)[CLEANUP])
    assert before - set(jobs(agent)) == {"Redial audit: retire, lab"}
    run(agent, rendered(configured())[CLEANUP])
    assert jobs(agent) == {}
    assert agent.rows("SELECT 1 FROM audit.OwnedObject WHERE Kind = N'AGENT JOB';") == []


def test_a_copy_of_the_database_leaves_the_originals_jobs_alone(agent):
    """OwnedObject came along with the copy; its names end with the other database."""
    agent.sa.execute(
        "UPDATE audit.OwnedObject SET Name = REPLACE(Name, N', lab', N', prod') "
        "WHERE Kind = N'AGENT JOB'; "
        "UPDATE msdb.dbo.jobs SET name = REPLACE(name, N', lab', N', prod');"
    )
    before = jobs(agent)
    printed = run(agent, rendered(configured())[CLEANUP])
    assert any("is of another database" in line for line in printed)
    assert jobs(agent) == before


def test_a_job_that_somebody_has_deleted_is_named_by_verify(agent):
    def found() -> list[str]:
        return verify(CONFIG, lambda: Connection(agent.instance, "lab"))

    assert found() == []
    agent.sa.execute("DELETE FROM msdb.dbo.jobs WHERE name = N'Redial audit: retire, lab';")
    assert found() == [
        "in lab: agent job retire is missing. Who may: db_owner. Next: redial deploy makes it so again."
    ]
    run(agent, rendered(CONFIG)[SCRIPT])
    assert found() == []


def test_a_job_that_somebody_has_switched_off_is_said_and_stays_off(agent):
    """Deploying again leaves it so (92_jobs): it is a note, no finding."""

    def notes() -> list[str]:
        [one] = look(CONFIG, lambda: Connection(agent.instance, "lab"))
        assert one.differences == []
        return [note for note in one.notes() if "agent job" in note]

    assert notes() == []
    job = "Redial audit: retire, lab"
    agent.sa.execute(f"UPDATE msdb.dbo.jobs SET enabled = 0 WHERE name = N'{job}';")
    run(agent, rendered(CONFIG)[SCRIPT])
    assert notes() == [
        f"agent job {job} is switched off, and a deployment leaves it so: what it does is not done. "
        f"Next: EXECUTE msdb.dbo.sp_update_job @job_name = N'{job}', @enabled = 1;"
    ]


def test_where_there_is_no_agent_verify_asks_for_no_job():
    lab = Lab(CONFIG)
    assert verify(CONFIG, lambda: Connection(lab.instance, "lab")) == []


def test_a_name_that_was_cut_for_a_long_name_of_the_database_is_known_as_ours(agent):
    long = "d" * 110
    agent.sa.execute(f"CREATE DATABASE [{long}]; USE [{long}];")
    for sql in installer(CONFIG):
        run(agent, sql)
    assert all(len(name) == 128 for name in jobs(agent) if "ddd" in name)
    before = jobs(agent)
    run(agent, rendered(configured())[CLEANUP])
    assert {name for name in before if "ddd" not in name} == set(jobs(agent)) != set(before)


def test_somebody_elses_job_of_our_name_is_not_changed(agent):
    agent.sa.execute("DELETE FROM audit.OwnedObject WHERE Kind = N'AGENT JOB';")
    run(agent, rendered(CONFIG)[SCRIPT])  # the description says that they are ours
    kept = "SELECT COUNT(*) FROM audit.OwnedObject WHERE Kind = N'AGENT JOB';"
    assert agent.rows(kept) == [(len(jobs(agent)),)]
    agent.sa.execute(
        "DELETE FROM audit.OwnedObject WHERE Kind = N'AGENT JOB'; "
        "UPDATE msdb.dbo.jobs SET description = N'by hand';"
        "UPDATE msdb.dbo.steps SET command = N'theirs';"
    )
    printed = run(agent, rendered(CONFIG)[SCRIPT])
    assert any("was not made by this configuration" in line for line in printed)
    assert {step for step, _ in jobs(agent).values()} == {"theirs"}
    assert agent.rows(kept) == [(0,)]


RESEND = "Redial audit: resend stranded, lab"


@pytest.mark.parametrize(
    ("key", "there"), [(PLAIN[0], False), *((key, True) for key in WITHOUT_ROWS)]
)
def test_what_dialogs_ended_by_hand_left_is_sent_again_by_one_job_or_the_other(key, there):
    """Nobody is told of such an end (F-463), so somebody has to come by: usp_RetireIdle, where
    there are rows, and elsewhere usp_ResendStranded itself.
    """
    config = configured(
        operations={"agent_job": True},
        conversation={"key": key, "recycle": usual_recycle(key)},
    )
    lab = Lab(config)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute("USE lab;")
    run(lab, rendered(config)[SCRIPT])
    found = jobs(lab)
    assert (RESEND in found, "Redial audit: retire, lab" in found) == (there, not there)
    if there:
        step, schedule = found[RESEND]
        assert (step, schedule) == ("EXECUTE [audit].[usp_ResendStranded];", "4/5/0")
        lab.sa.execute(step)


def test_every_shipped_configuration_that_sends_has_such_a_job():
    for toml in sorted(CONFIGS.glob("*.toml")):
        config = load(toml)
        files = rendered(
            config.model_copy(
                update={
                    "operations": config.operations.model_copy(update={"agent_job": True}),
                }
            )
        )
        by = [
            call
            for call in ("[usp_RetireIdle] @WhatIf = 0;", "[usp_ResendStranded];")
            if call in files[SCRIPT]
        ]
        assert len(by) == 1, toml.stem


def test_the_target_s_database_has_no_such_job():
    """Nothing is sent from there, and there are no copies."""
    apart = configured(
        operations={"agent_job": True},
        target={"database": "depot"},
        conversation={"key": "message", "recycle": "never"},
    )
    files = rendered(apart)
    assert "usp_ResendStranded" in files[SCRIPT]
    assert "usp_ResendStranded" not in files.get(f"target/{SCRIPT}", "")


# ---------------------------------------------------------------------- owner, replicas
RETIRE = "Redial audit: retire, lab"


def owners(lab: Lab) -> set[str]:
    return {owner for (owner,) in lab.rows("SELECT owner FROM msdb.dbo.jobs;")}


def as_dev(*, msdb: bool = True) -> tuple[Lab, list[str]]:
    """Deployed by db_owner ``dev``, who may make jobs of his own or none; what was printed."""
    lab = Lab(CONFIG)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute("CREATE LOGIN dev WITH PASSWORD = N'Some-Word-1';")
    if msdb:
        lab.sa.execute("CREATE USER dev; ALTER ROLE db_owner ADD MEMBER dev;")
    lab.sa.execute(
        "USE lab; CREATE USER dev; ALTER ROLE db_owner ADD MEMBER dev; EXECUTE AS LOGIN = N'dev';"
    )
    printed = run(lab, rendered(CONFIG)[SCRIPT])
    lab.sa.execute("REVERT;")
    return lab, printed


def test_a_sysadmins_jobs_are_sas_and_run_as_the_module_user(agent):
    """Nothing runs as whoever happened to deploy, nor stops when that login goes."""
    lab = Lab(CONFIG)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute(
        "CREATE LOGIN dba WITH PASSWORD = N'Some-Word-1'; ALTER SERVER ROLE sysadmin ADD MEMBER dba;"
        "USE lab; EXECUTE AS LOGIN = N'dba';"
    )
    printed = run(lab, rendered(CONFIG)[SCRIPT])
    lab.sa.execute("REVERT;")
    assert owners(lab) == owners(agent) == {"sa"}
    assert not any("belongs to" in line for line in printed)
    worked_as(lab, "audit_module")


def worked_as(lab: Lab, user: str) -> None:
    """The retire job does its work as that user of the database, and succeeds."""
    lab.sa.execute("CREATE TABLE dbo.who (name sysname); GRANT INSERT ON dbo.who TO public;")
    lab.sa.execute(
        "ALTER PROCEDURE audit.usp_RetireIdle @WhatIf bit AS "
        "INSERT INTO dbo.who VALUES (USER_NAME());"
    )
    assert Agent(lab).start(RETIRE) is True, Agent(lab).history(RETIRE)
    assert lab.rows("SELECT name FROM dbo.who;") == [(user,)]


def test_who_is_no_sysadmin_is_told_that_his_jobs_run_as_himself():
    lab, printed = as_dev()
    assert owners(lab) == {"dev"}
    told = [line for line in printed if "belongs to dev, who deploys" in line]
    assert len(told) == len(jobs(lab)) and "@owner_login_name" in told[0]
    worked_as(lab, "dev")


def test_a_sysadmin_who_deploys_again_leaves_dev_s_jobs_running_as_dev():
    """@database_user_name would be heeded for a sysadmin's job only; so is what replaces it."""
    lab, _ = as_dev()
    run(lab, rendered(CONFIG)[SCRIPT])
    worked_as(lab, "dev")


def test_who_may_make_no_job_is_told_who_may_and_how():
    lab, printed = as_dev(msdb=False)
    assert jobs(lab) == {}
    told = [line for line in printed if "A sysadmin can run 92_agent_jobs.job.sql in [lab]" in line]
    assert len(told) == 7 and any(f'"{RETIRE}"' in line for line in told)
    assert any("once a day: sqlcmd" in line and "usp_PurgeDeadLetter" in line for line in told)


def test_deploying_again_leaves_the_owner_an_operator_chose(agent):
    agent.sa.execute("UPDATE msdb.dbo.jobs SET owner = N'theirs';")
    run(agent, rendered(CONFIG)[SCRIPT])
    assert owners(agent) == {"theirs"}


def test_a_job_whose_owner_is_gone_is_named_and_how_to_repair_it():
    lab, _ = as_dev()
    lab.sa.execute("DROP LOGIN dev;")
    assert Agent(lab).start(RETIRE) is False
    assert "owner (dev)" in Agent(lab).history(RETIRE)[-1]
    told = [p for p in run(lab, rendered(CONFIG)[SCRIPT]) if "a login that is gone" in p]
    assert len(told) == len(jobs(lab)) == 7
    assert any(f"@job_name = N'{RETIRE}', @owner_login_name = N'sa';" in line for line in told)


@pytest.mark.parametrize("state", [True, False])
def test_an_agent_that_stands_starts_nothing_and_leaves_no_history(agent, state):
    stands = Agent(agent, running=state)
    assert stands.start(RETIRE) is (True if state else None)
    assert (stands.history(RETIRE) == []) is not state


@pytest.mark.parametrize("deployer", ["sa", "dev", "dev who cannot tell"])
@pytest.mark.parametrize("readable", [True, False])
def test_a_job_works_on_a_primary_or_without_a_group_and_ends_with_success_on_a_secondary(
    deployer, readable, monkeypatch
):
    """Whoever cannot tell goes on: the work, or a failure that is seen, and never a lie."""
    lab = deployed() if deployer == "sa" else as_dev()[0]
    database = lab.instance.database("lab")
    lab.sa.execute("USE master;")
    tells = deployer != "dev who cannot tell"
    if not tells:  # of a database the login cannot see the page says NULL
        monkeypatch.setitem(CATALOG_FUNCTIONS, "DATABASEPROPERTYEX", lambda *_: None)
    agent = Agent(lab)
    assert agent.start(RETIRE) is True
    replicas.join_group(database, readable=readable)
    assert agent.start(RETIRE) is True
    replicas.fail_over(database)
    assert agent.start(RETIRE) is tells
    assert ("the job runs on the primary" in agent.history(RETIRE)[-1]) is tells
    replicas.fail_over(database)
    assert agent.start(RETIRE) is True
    assert "primary" not in agent.history(RETIRE)[-1]
    replicas.leave_group(database)
    assert agent.start(RETIRE) is True


def deployed() -> Lab:
    lab = Lab(CONFIG)
    lab.sa.execute("USE msdb;")
    run(lab, AGENT)
    lab.sa.execute("USE lab;")
    run(lab, rendered(CONFIG)[SCRIPT])
    return lab


def test_a_database_somebody_made_read_only_is_no_secondary(agent):
    agent.sa.execute("USE master; ALTER DATABASE lab SET READ_ONLY WITH ROLLBACK IMMEDIATE;")
    assert Agent(agent).start("Redial audit: purge logs, lab") is False


def test_a_job_whose_work_fails_fails(agent):
    agent.sa.execute("USE lab; DROP PROCEDURE audit.usp_RetireIdle;")
    assert Agent(agent).start(RETIRE) is False


def test_the_jobs_of_an_earlier_version_get_the_one_step(agent):
    """Its first step ended the job with success whenever it failed, for want of a right too."""
    agent.sa.execute(
        "USE msdb; EXECUTE dbo.sp_delete_jobstep @job_name = N'Redial audit: retire, lab', @step_id = 0;"
        "EXECUTE dbo.sp_add_jobstep @job_name = N'Redial audit: retire, lab', @step_id = 1, "
        "@step_name = N'primary replica only', @subsystem = N'TSQL', @database_name = N'master', "
        "@command = N'THROW 50227, N''?'', 1;', @on_success_action = 3, @on_fail_action = 1;"
        "EXECUTE dbo.sp_add_jobstep @job_name = N'Redial audit: retire, lab', @step_id = 2, "
        "@step_name = N'retire', @subsystem = N'TSQL', @database_name = N'lab', @command = N'THROW;';"
    )
    assert Agent(agent).start(RETIRE) is True, "which is what was wrong"
    agent.sa.execute("USE lab;")
    run(agent, rendered(CONFIG)[SCRIPT])
    steps = "SELECT step_id, on_success, on_fail FROM msdb.dbo.steps WHERE job = N'{}';"
    assert agent.rows(steps.format(RETIRE)) == [(1, 1, 2)]
    agent.sa.execute("DROP PROCEDURE audit.usp_RetireIdle;")
    assert Agent(agent).start(RETIRE) is False


# ---------------------------------------------------------------------- history
def told(lab: Lab) -> dict[str, tuple[str, str]]:
    """Of the jobs: finding and figure, by task."""
    rows = lab.rows("EXECUTE audit.usp_Health;")
    return {
        row[2].removeprefix("Redial audit: ").removesuffix(", lab"): (row[1], row[3])
        for row in rows
        if row[1] in ("job does not run", "job failed")
    }


def test_health_tells_of_an_agent_that_stands_and_of_jobs_that_fail(agent):
    """Nothing else does: a job that is not started reports nothing."""
    agents = Agent(agent)
    assert told(agent) == {}, "they are just made"
    agent.instance.clock.advance(50 * 60)
    assert agents.start(RETIRE) is True
    agent.instance.clock.advance(50 * 60)
    assert told(agent) == {"health": ("job does not run", "last run never")}
    agent.instance.clock.advance(2 * 86_400)
    late = told(agent)
    assert len(late) == 7 and {finding for finding, _ in late.values()} == {"job does not run"}
    assert late["retire"][1].startswith("last run 2026-")
    # 1. it goes again, and one of them fails
    agent.sa.execute("DROP PROCEDURE audit.usp_PurgeLogs;")
    for job in jobs(agent):
        agents.start(job)
    assert {task: finding for task, (finding, _) in told(agent).items()} == {
        "purge logs": "job failed",
        "purge landing": "job failed",  # no reader has acknowledged anything
    }
    agent.sa.execute("UPDATE msdb.dbo.jobs SET enabled = 0;")
    agent.instance.clock.advance(3 * 86_400)
    assert told(agent)["retire"][1].endswith(", disabled")


@pytest.mark.parametrize("date", ["0", "NULL"])
@pytest.mark.parametrize("outcome", ["0", "5", "NULL"])
def test_a_job_that_never_ran_has_not_failed_however_msdb_says_so(agent, outcome, date):
    agent.sa.execute(
        f"UPDATE msdb.dbo.sysjobservers SET last_run_outcome = {outcome}, last_run_date = {date}, "
        f"last_run_time = {date};"
    )
    assert told(agent) == {}


def test_who_may_not_read_msdb_is_told_that_the_jobs_were_not_looked_at(agent):
    agent.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    rows = agent.rows("EXECUTE AS USER = N'ops'; EXECUTE audit.usp_Health; REVERT;")
    jobs_of = [row[0] for row in rows if (row[2] or "").startswith("job failed, job does not run")]
    assert jobs_of == [150]

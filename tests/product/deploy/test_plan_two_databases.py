"""What plan says where sender and target have a database each, and that a deployment does it."""

from __future__ import annotations

from contextlib import closing

import pytest

from redial.config import Config, load
from redial.deploy import verify
from redial.deploy.accepting import Accepted, Entry, accept
from redial.deploy.baseline import keep_baseline
from redial.deploy.plan import BLOCKED, NOTHING, Plan
from redial.deploy.verify import look
from redial.paths import CONFIGS
from redial.render import render

from .by_hand import deployed, surveyed
from .conftest import two_databases

pytestmark = pytest.mark.driver
SHOP, DEPOT = "shop", "depot"
AUDIT = load(CONFIGS / "audit.toml")
CONFIG = AUDIT.model_copy(
    update={"target": AUDIT.target.model_copy(update={"database": DEPOT, "receive_wait_ms": 0})}
)
LATER = CONFIG.model_copy(
    update={"retention": CONFIG.retention.model_copy(update={"landing_days": 30})}
)


def planned(config: Config, connect) -> Plan:
    return surveyed(config, connect).plan


@pytest.fixture(scope="module")
def both():
    """A broker in which both databases were deployed; each test goes back to that."""
    with two_databases(SHOP, DEPOT) as (broker, connect):
        assert deployed(CONFIG, connect) == 0
        yield broker, connect


@pytest.fixture
def connect(both):
    broker, connect = both
    moment = broker.call(lambda instance: instance.snapshot())
    yield connect
    broker.call(lambda instance: moment.restore())


def run(connect, database: str, sql: str) -> None:
    with closing(connect()) as connection:
        connection.cursor().execute(f"USE {database}; {sql}")


def test_without_a_difference_there_is_nothing_to_do(connect):
    plan = planned(CONFIG, connect)
    assert (plan.status, plan.before) == (NOTHING, plan.after)


def test_a_change_of_the_configuration_is_planned_and_deployed(connect):
    assert planned(LATER, connect).blocked == []
    assert deployed(LATER, connect) == 0
    assert planned(LATER, connect).status == NOTHING
    assert deployed(CONFIG, connect) == 0


@pytest.mark.parametrize("database", [SHOP, DEPOT])
def test_a_module_changed_by_hand_is_told_from_another_version(connect, database):
    run(
        connect,
        database,
        "DECLARE @t nvarchar(max) = OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_LogError')); "
        "SET @t = STUFF(@t, CHARINDEX(N'CREATE', @t), 6, N'ALTER'); "
        "SET @t = REPLACE(@t, N'SET NOCOUNT ON;', N'SET NOCOUNT ON; /* hotfix */'); "
        "EXECUTE sys.sp_executesql @t;",
    )
    assert [line.partition(" was ")[0] for line in planned(LATER, connect).blocked] == [
        f"module usp_LogError in {database}"
    ]


@pytest.mark.parametrize("database", [SHOP, DEPOT])
def test_what_surrounds_it_is_compared_and_a_baseline_keeps_it(connect, database):
    run(connect, database, "CREATE USER joe WITHOUT LOGIN; GRANT CONTROL TO joe;")
    [found] = verify(CONFIG, connect)
    assert "CONTROL to joe of DATABASE has come since the last deployment" in found
    with closing(connect()) as connection:
        connection.autocommit = True
        keep_baseline(connection, CONFIG, render(CONFIG), look(CONFIG, connect))
    assert verify(CONFIG, connect) == []


@pytest.mark.parametrize("database", [SHOP, DEPOT])
def test_what_a_file_accepts_in_one_database_is_a_finding_in_the_other(connect, database):
    for each in (SHOP, DEPOT):
        run(connect, each, "CREATE USER joe WITHOUT LOGIN; GRANT SELECT ON audit.ErrorLog TO joe;")
    said = "permission SELECT to joe on OBJECT ErrorLog is there, and no file of this configuration makes it"
    entry = Entry("accepted.toml:1", said, "*", "reports", database=database)
    looks = accept(look(CONFIG, connect), CONFIG.name, Accepted((entry,)))
    assert [one.database for one in looks if one.accepted] == [database]
    assert [one.database for one in looks if one.differences] == [
        one for one in (SHOP, DEPOT) if one != database
    ]
    assert not any(one.remarks for one in looks)


@pytest.mark.parametrize("database", [SHOP, DEPOT])
def test_what_a_statement_undoes_is_undone_and_nothing_else_is_found(connect, database):
    run(connect, database, "ALTER TABLE audit.ErrorLog SET (LOCK_ESCALATION = AUTO);")
    assert deployed(CONFIG, connect) == 0
    assert verify(CONFIG, connect) == []


def test_who_is_in_the_way_is_named_with_the_database(connect):
    with closing(connect()) as connection:
        connection.autocommit = False
        connection.cursor().execute(
            f"USE {DEPOT}; DECLARE @n int = (SELECT COUNT(*) FROM audit.ErrorLog WITH (TABLOCKX));"
        )
        said = planned(CONFIG, connect).in_the_way
        connection.rollback()
    assert said.startswith(f"in {DEPOT}: session ")
    assert planned(CONFIG, connect).in_the_way == ""


def test_what_the_targets_database_refuses_is_in_the_plan(connect):
    run(connect, DEPOT, "DROP VIEW audit.vw_Errors; ALTER DATABASE CURRENT SET READ_ONLY;")
    plan = planned(CONFIG, connect)
    assert plan.status == BLOCKED
    assert any("50223" in line for line in plan.blocked), plan.blocked

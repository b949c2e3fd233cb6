"""The embedded broker of a trial: one or two databases, the configuration, callers' logins."""

from __future__ import annotations

import gc
import json

from redial.config import Config
from redial.deploy.apply import installation
from redial.render import render
from redial.render.quoting import literal, quote_name
from redial.tsql import split_batches
from redial_broker.engine.errors import SqlError
from redial_broker.instance.instance import Instance
from redial_broker.instance.session import Session
from redial_broker.instance.snapshot import Snapshot
from redial_lab.torture.caller_journal import Row
from redial_lab.torture.calls import LOGIN, PASSWORD, Calls
from redial_lab.torture.plan import Plan

DATABASE = "torture"

REFUSING_HOOK = """
    IF SUBSTRING(@body, 1, 6) = 0x706F69736F6E
    BEGIN
        IF @sequence % 3 = 0 THROW 60001, N'Poison.', 1;
        IF @sequence % 3 = 1 SELECT CONVERT(int, N'poison');
        ELSE ROLLBACK TRANSACTION;
        RETURN;
    END;
"""
"""What the hook does with poison, in front of the stub's INSERT."""


def deploy_steps(config: Config, mutant: str | None) -> list[tuple[str, str]]:
    """(database, batch) of an installation, in order."""
    files = render(config, mutant=mutant)
    return [
        (config.target.database or DATABASE if "/" in name else DATABASE, sql)
        for name in installation(files)
        for sql, _, count in split_batches(files[name])
        for _ in range(count)
    ]


class Stage:
    """An instance with everything installed, at the moment before the first caller comes."""

    def __init__(self, plan: Plan) -> None:
        self.config = Config.model_validate(plan.config)
        self.files = tuple(render(self.config, mutant=plan.mutant))
        self.calls = Calls(self.config, self.files)
        self.hooked = self.config.target.processing.value == "hook"
        self.instance = Instance(seed=plan.seed, switches=plan.switches)
        self.databases = [DATABASE, *filter(None, [self.config.target.database])]
        for name in self.databases:
            self.run("master", f"CREATE DATABASE {quote_name(name)};")
            self.run(
                "master", f"ALTER DATABASE {quote_name(name)} SET ALLOW_SNAPSHOT_ISOLATION ON;"
            )
            if plan.rcsi:
                self.run(
                    "master", f"ALTER DATABASE {quote_name(name)} SET READ_COMMITTED_SNAPSHOT ON;"
                )
        for database, sql in deploy_steps(self.config, plan.mutant):
            self.run(database, sql)  # a session each: no batch of ours leaves anything to the next
        self.run("master", f"CREATE LOGIN {quote_name(LOGIN)} WITH PASSWORD = {literal(PASSWORD)};")
        for sql in self.calls.application([LOGIN]):
            self.run(DATABASE, sql)
        if self.hooked:
            self._refuse_poison()
        self.moment: Snapshot = self.instance.snapshot()

    def run(self, database: str, sql: str) -> list[Row]:
        """A batch of the administrator's while nobody else is at work. Raises AssertionError."""
        session = self.instance.connect(database)
        try:
            found = session.execute(sql).ok()
            return found.result_sets[-1].rows if found.result_sets else []
        finally:
            session.close()

    def login(self) -> Session | None:
        """A caller's session; None when the server does not let it in now."""
        try:
            return self.instance.login(LOGIN, PASSWORD, DATABASE, app="torture")
        except SqlError:
            return None

    def _refuse_poison(self) -> None:
        database = self.databases[-1]
        hook = f"{quote_name(self.config.schema_name)}.{quote_name(self.config.target.hook)}"
        text = self.run(database, f"SELECT OBJECT_DEFINITION(OBJECT_ID({literal(hook)}));")[0][0]
        head, begin, rest = text.partition("    SET NOCOUNT ON;\n")
        self.run(
            database,
            head.replace("CREATE PROCEDURE", "ALTER PROCEDURE", 1) + begin + REFUSING_HOOK + rest,
        )


_LAST: dict[str, Stage] = {}
"""The stage that was used last, by what it was made of."""


def stage_of(plan: Plan) -> Stage:
    """The stage of a plan as it is before its first caller; plans that differ in callers and events
    only have one in common."""
    made_of = json.dumps([plan.seed, plan.config, plan.mutant, plan.switches, plan.rcsi])
    if made_of not in _LAST:
        _LAST.clear()
        gc.collect()  # an instance is full of circles, and nobody else looks during a trial
        _LAST[made_of] = Stage(plan)
    _LAST[made_of].moment.restore()
    return _LAST[made_of]

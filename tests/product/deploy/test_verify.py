"""Verification names each thing that is missing or off, and the next command."""

import re
from typing import Any

from redial.config import load
from redial.deploy import verify
from redial.paths import CONFIGS

AUDIT = load(CONFIGS / "audit.toml")


class Catalog:
    """Answers verify's questions: everything is there, but for what ``wrong`` says."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong
        self.autocommit = False

    def __call__(self) -> "Catalog":
        return self

    def cursor(self) -> "Catalog":
        return self

    def close(self) -> None:
        pass

    def execute(self, sql: str) -> "Catalog":
        self.answer = self._answer(sql)
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.answer

    def _answer(self, sql: str) -> list[tuple[Any, ...]]:
        missing = self.wrong.get("missing", ())
        if "is_broker_enabled" in sql:
            return [(self.wrong.get("broker", 1),)]
        if sql.startswith("SELECT OBJECT_ID"):
            name = re.search(r"\.\[(.*)\]'", sql).group(1)
            return [(None if name in missing else 99,)]
        if "FROM sys.service_queues" in sql:
            initiator = "[InitiatorQueue]" in sql
            default = (1, 1, AUDIT.initiator.readers if initiator else AUDIT.target.readers)
            return [self.wrong.get("initiator_queue", default) if initiator else default]
        if "sys.sql_modules" in sql:
            return [(name,) for name in self.wrong.get("unset", ())]
        if "IS_ROLEMEMBER" in sql:
            return [(self.wrong.get("owner", 1),)]
        name = re.search(r"name = N'(.*)';", sql).group(1)
        return [] if name in missing else [(name,)]


def test_a_whole_installation_has_no_findings():
    assert verify(AUDIT, Catalog()) == []


def test_every_finding_names_the_thing_and_the_next_command():
    found = verify(
        AUDIT,
        Catalog(
            broker=0,
            missing=("usp_Send", "Landing", "//redial/audit/target", "EndOfStream"),
            initiator_queue=(0, 0, 7),
            unset=("usp_ReadErrorBody",),
            owner=0,
        ),
    )
    assert len(found) == 10
    assert all("Next: " in line for line in found)
    text = "\n".join(found)
    for expected in (
        "Service Broker is off",
        "[audit].[usp_Send] is missing",
        "[audit].[Landing] is missing",
        "'//redial/audit/target' is missing in sys.services",
        "'EndOfStream' is missing in sys.service_message_types",
        "[audit].[InitiatorQueue] is off",
        "[audit].[InitiatorQueue] has no activation",
        "[audit].[InitiatorQueue] has 7 readers, not 2",
        "usp_ReadErrorBody was created with ANSI_NULLS or QUOTED_IDENTIFIER off",
        "ALTER ROLE db_owner ADD MEMBER [audit_module];",
    ):
        assert expected in text


def test_every_table_and_procedure_of_the_rendering_is_looked_for():
    asked = []
    catalog = Catalog()
    answer = catalog._answer
    catalog._answer = lambda sql: asked.append(sql) or answer(sql)
    verify(AUDIT, catalog)
    for name, kind in (
        ("SessionConversations", "U"),
        ("OwnedObject", "U"),
        ("usp_TargetActivation", "P"),
        ("usp_BeginConversation", "P"),
        ("TargetQueue", "SQ"),
    ):
        assert f"SELECT OBJECT_ID(N'[audit].[{name}]', N'{kind}');" in asked

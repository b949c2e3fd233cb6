"""The files sent as each kind of tool sends them, to a database in a bad state: they stop right, say so,
leave nothing half, and a second run finishes once the state is mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from redial.render.runners import RUNNERS
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import PASSWORD, USER
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.installed import rendered

from . import catalog
from .bare import FILE, Bare, fresh_catalog, installer
from .lab import AUDIT

FILES = {name: text for name, text in rendered(AUDIT).items() if FILE.fullmatch(name)}
NOT_BEFORE, LAST_STATE = 50233, 127
CUT = {runner.name: runner.cut for runner in RUNNERS}


class Tool(NamedTuple):
    """How a tool sends a script."""

    cut: str
    """Name of the rule in render/runners.py."""
    keeps: bool
    """One connection for all batches, not one for each."""
    goes_on: bool
    """Behind an error."""


TOOLS = {
    "sqlcmd -b": Tool("go-sqlcmd", True, False),
    "sqlcmd": Tool("go-sqlcmd", True, True),
    "SSMS": Tool("SSMS, Invoke-Sqlcmd", True, True),
    "DbUp": Tool("DbUp", True, False),
    "a connection for each batch": Tool("dbatools", False, False),
}
"""A tool that opens a connection for each batch AND goes on behind errors can be stopped by no script of
plain batches: it is told by the last file (test_files.py), and docs/howto says so."""


class Sent(NamedTuple):
    """What a tool was told."""

    numbers: list[int]
    states: list[int]
    said: str


def send(bare: Bare, tool: Tool, login: str = USER, database: str = "lab") -> Sent:
    """The script as the tool sends it, time passing where it waits."""
    session, messages = None, []
    with unprobed(bare.instance.server):
        for sql in (sql for text in FILES.values() for sql in CUT[tool.cut](text)):
            if session is not None and not tool.keeps:
                bare.instance.disconnect(session)
            if session is None or not tool.keeps:
                password = PASSWORD if login == USER else SECRET
                session = bare.instance.login(login, password, database)
            out = session.sink = Collector()
            session.submit(Batch(sql))
            bare.settle()
            for _ in range(200):
                if out.finished:
                    break
                bare.advance(1)
            assert out.finished
            messages += out.messages
            if out.errors and not tool.goes_on:
                break
        if session is not None:
            bare.instance.disconnect(session)
    errors = [message for message in messages if message.severity > 10]
    return Sent(
        [error.number for error in errors],
        [error.state for error in errors],
        "\n".join(message.text for message in messages),
    )


SECRET = "Pa55word of 1 tester"
Mend = Callable[[], None]


def nobody(bare: Bare) -> Mend:
    """A user who may connect and no more."""
    bare.sa.execute(
        f"CREATE LOGIN poor WITH PASSWORD = N'{SECRET}'; CREATE USER poor FOR LOGIN poor;"
    )
    return lambda: bare.sa.execute("USE lab; ALTER ROLE db_owner ADD MEMBER poor;")


def altered(wrong: str, right: str) -> Callable[[Bare], Mend]:
    def arrange(bare: Bare) -> Mend:
        bare.sa.execute(f"ALTER DATABASE lab SET {wrong};")
        return lambda: bare.sa.execute(f"ALTER DATABASE lab SET {right};")

    return arrange


def locked(bare: Bare) -> Mend:
    """Another installer holds the lock."""
    other = bare.instance.connect("lab")
    other.execute(
        "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session';"
    ).ok()
    return lambda: bare.instance.disconnect(other)


def somebody_there(bare: Bare) -> Mend:
    """Broker off, and a session in the database that ENABLE_BROKER would wait for."""
    bare.sa.execute("USE master; ALTER DATABASE lab SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    other = bare.instance.login(USER, PASSWORD, "lab")
    bare.sa.execute("USE master;")
    return lambda: bare.instance.disconnect(other)


STATES: dict[str, tuple[Callable[[Bare], Mend], int, str, str]] = {
    "no rights": (nobody, 50200, "ALTER ROLE [db_owner] ADD MEMBER [poor]", "poor"),
    "read-only": (altered("READ_ONLY", "READ_WRITE"), 50223, "SET READ_WRITE", USER),
    "level 120": (
        altered("COMPATIBILITY_LEVEL = 120", "COMPATIBILITY_LEVEL = 150"),
        50223,
        "SET COMPATIBILITY_LEVEL = 130",
        USER,
    ),
    "lock": (locked, 50229, "A deployment of configuration audit is running.", USER),
    "broker off, others there": (somebody_there, 50226, "let them end", USER),
}


@pytest.mark.sampled(every=5, meets=("state", "tool"))
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("state", STATES)
def test_each_tool_stops_in_each_state_says_why_and_finishes_when_it_is_mended(state, tool):
    arrange, number, said, login = STATES[state]
    bare = Bare()
    mend = arrange(bare)
    bare.sa.execute("USE lab;")
    before = bare.catalog()
    if state == "broker off, others there":
        bare.sa.execute("USE master;")
    told = send(bare, TOOLS[tool], login)
    later = [NOT_BEFORE] * (len(FILES) - 1) if TOOLS[tool].goes_on else []
    # What is not run under NOEXEC is compiled: OPENJSON .. WITH is no syntax below level 130.
    ours = [one for one in zip(told.numbers, told.states) if one[0] != 319 or state != "level 120"]
    assert [one for one, _ in ours] == [number, *later], told.said
    assert {one for _, one in ours} == {LAST_STATE}  # sqlcmd ends, and not with 0 (F-493)
    assert said in told.said and "Next: " in told.said and "Nothing was done" in told.said
    bare.sa.execute("USE lab;")
    assert catalog.difference(before, bare.catalog()) == []
    bare.sa.execute("USE master;")
    mend()
    told = send(bare, TOOLS[tool], login)
    assert told.numbers == [] and told.said.endswith(": installed.")
    bare.sa.execute("USE lab;")
    wanted = fresh_catalog(AUDIT)
    # A tool writes its own blanks around a batch; 9_finish.sql has compared the texts without any.
    found = [
        line for line in catalog.difference(wanted, bare.catalog()) if " modules: " not in line
    ]
    if login != USER:  # a role is its maker's (CREATE ROLE page)
        found = [line for line in found if login not in line and "'R', None, 'dbo'" not in line]
    assert found == []


@pytest.mark.parametrize("database", ["master", "msdb", "tempdb", "model"])
def test_a_system_database_is_refused_and_left_as_it_was(database):
    bare = Bare()
    bare.sa.execute(f"USE {database};")
    names = "SELECT name FROM sys.objects UNION ALL SELECT name FROM sys.schemas ORDER BY 1;"
    before = bare.rows(names)
    told = send(bare, TOOLS["sqlcmd"], database=database)
    assert told.numbers[0] in (50223, 50221)  # of several things each is told
    assert set(told.numbers[1:]) == {NOT_BEFORE}
    assert f"[{database}] is a system database" in told.said
    assert "USE the database" in told.said
    assert bare.rows(names) == before


@pytest.mark.parametrize("tool", ["sqlcmd", "a connection for each batch"])
def test_a_connection_cut_in_the_middle_leaves_no_reader_on_and_the_next_run_finishes(tool):
    bare = Bare()
    assert bare.killed_after(installer(AUDIT), 670)
    assert bare.rows(
        "SELECT OBJECT_ID(N'audit.usp_LogError'), OBJECT_ID(N'audit.usp_Health');"
    ) != [(None, None)]
    assert bare.rows(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_activation_enabled = 1;"
    ) == [(0,)]
    told = send(bare, TOOLS[tool])
    assert told.numbers == [] and told.said.endswith(": installed.")
    found = catalog.difference(fresh_catalog(AUDIT), bare.catalog())
    assert [line for line in found if " modules: " not in line] == []

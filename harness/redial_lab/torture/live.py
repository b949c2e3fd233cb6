"""A trial on any server, over ODBC: callers in processes of their own behind a proxy.

Time is real, so a trial is short and no lifetime is waited for. Connections are cut in the middle
of anything, processes killed; what an operator does is the nemesis' own T-SQL.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random

from redial.config import Config
from redial.deploy import apply, connect_odbc
from redial.render import render
from redial.render.quoting import literal, quote_name
from redial.server import Server, with_database
from redial_lab.torture.caller_examples import MODES, Example, fits, java, python
from redial_lab.torture.caller_journal import Journal, Row
from redial_lab.torture.calls import LOGIN, PASSWORD, Calls
from redial_lab.torture.journal_verdict import judge
from redial_lab.torture.nemesis import KINDS, READER, SENDER, Place, Step
from redial_lab.torture.plan import Plan
from redial_lab.torture.process import read
from redial_lab.torture.tally import Result, acknowledged
from redial_lab.torture.what_landed import collect
from redial_lab.torture.wire import Proxy

PATIENCE_SECONDS = 600.0
FIRST_EXAMPLE = 1000
"""Number of the first example of docs/callers, above every client's of a plan."""
ADDRESS = re.compile(r"(?i)server\s*=\s*(?:tcp:)?([^,;]+),(\d+)")


class Live:
    """One trial. server: its database is the trial's own, and empty. seconds: of sending.
    java: Java's command and Microsoft's driver, for docs/callers/Send.java; None without."""

    def __init__(
        self, plan: Plan, server: Server, seconds: float, java: tuple[str, Path] | None = None
    ) -> None:
        shorter = seconds / plan.seconds
        config = deepcopy(plan.config)
        config["conversation"]["longest_transaction_seconds"] = max(1, round(seconds / 3))
        self.plan = replace(
            plan,
            config=config,
            seconds=seconds,
            switches={},
            rcsi=False,
            clients=tuple(replace(c, pace=c.pace * shorter) for c in plan.clients),
            events=tuple(replace(e, at=e.at * shorter) for e in plan.events),
        )
        self.server, self.config, self.java = server, Config.model_validate(config), java
        self.files = tuple(render(self.config, mutant=plan.mutant))
        self.struck: Counter[str] = Counter()
        self.draw = Random(f"{plan.seed}/live")
        self.killed: set[int] = set()
        self._threads: list[threading.Thread] = []

    def run(self) -> Result:
        """Deploy, send under trouble, come to rest, judge."""
        self._prepare()
        found = ADDRESS.search(self.server.odbc)
        if found is None:
            raise ValueError("the connection string must name Server=host,port")
        proxy = Proxy(found[1], int(found[2]))
        odbc = ADDRESS.sub(f"Server=127.0.0.1,{proxy.port}", self.server.odbc)
        odbc = re.sub(r"(?i)(^|;)\s*(uid|pwd|encrypt|trustservercertificate)=[^;]*", "", odbc)
        odbc += f";UID={LOGIN};PWD={PASSWORD};Encrypt=no;TrustServerCertificate=yes"
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, closing(proxy):
            examples = self._examples(odbc, proxy.port)
            journals = self._callers(Path(folder), odbc, proxy)
            journals += [example.ends(PATIENCE_SECONDS) for example in examples]
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._rest()
        there = collect(self.config, self._ask, LOGIN)
        verdict = judge(self.config, journals, there, mutant=bool(self.plan.mutant))
        # Dialogs live on until their lifetime is over, which no trial of seconds waits for.
        findings = [one for one in verdict.findings if one.kind != "leaked"]
        verdict.counts["left to its lifetime"] = len(there.leaked) + len(there.one_sided)
        errors: Counter[int] = sum((journal.errors for journal in journals), Counter())
        return Result(
            self.plan,
            findings,
            verdict.counts,
            self.struck,
            errors,
            acknowledged(self.plan, journals),
            time.monotonic() - began,
        )

    # ------------------------------------------------------------------ callers
    def _examples(self, odbc: str, port: int) -> list[Example]:
        """docs/callers as they stand: Python in every mode, Java in one."""
        if not fits(self.config):
            return []
        languages = [(python(odbc), mode) for mode in MODES]
        if self.java is not None:
            database = self._ask("SELECT DB_NAME();", "")[0][0]
            jdbc = (
                f"jdbc:sqlserver://127.0.0.1:{port};databaseName={database};user={LOGIN};"
                f"password={PASSWORD};encrypt=false;trustServerCertificate=true"
            )
            languages.append((java(*self.java, jdbc), "transaction"))
        return [
            Example(language, self.config, FIRST_EXAMPLE + place, mode, self.plan.seconds)
            for place, (language, mode) in enumerate(languages)
        ]

    def _callers(self, folder: Path, odbc: str, proxy: Proxy) -> list[Journal]:
        """Start them all, let the nemesis strike, read what they have written."""
        plan = folder / "plan.json"
        plan.write_text(self.plan.to_json(), encoding="utf-8")
        processes, files = {}, {}
        for client in self.plan.clients:
            files[client.number] = folder / f"{client.number}.jsonl"
            with files[client.number].open("w") as out:
                processes[client.number] = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "redial_lab.torture.process",
                        str(plan),
                        str(client.number),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    text=True,
                )
            stdin = processes[client.number].stdin
            assert stdin is not None
            stdin.write(odbc + "\n")
            stdin.close()
        self._trouble(processes, proxy)
        for process in processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_SECONDS)
            process.kill()
            process.wait()
        journals = [read(number, file.read_text()) for number, file in files.items()]
        for journal in journals:
            journal.finished |= journal.client in self.killed
        return journals

    def _trouble(self, processes: dict[int, subprocess.Popen[str]], proxy: Proxy) -> None:
        """Each event at its time; sockets are cut and processes killed besides."""
        began = time.monotonic()
        for event in self.plan.events:
            if all(process.poll() is not None for process in processes.values()):
                return
            time.sleep(max(0.0, event.at - (time.monotonic() - began)))
            lot = self.draw.random()
            if lot < 0.15 and proxy.cut(event.pick):
                self.struck["cut"] += 1
            elif lot < 0.18 and len(self.killed) < len(processes) - 1:
                number = sorted(processes)[event.pick % len(processes)]
                if processes[number].poll() is None:
                    processes[number].kill()
                    self.killed.add(number)
                    self.struck["kill process"] += 1
            else:
                self._strike(event.kind, event.pick)

    def _strike(self, name: str, pick: int) -> None:
        kind = KINDS[name]
        if kind.strike is not None:
            victims = self._victims(kind.strike[1])
            if victims and kind.strike[0] == "kill":
                self._quietly("", f"KILL {victims[pick % len(victims)]};")
                self.struck[name] += 1
            return
        steps = kind.script(Place(self.config, pick, self.files)) if kind.script is not None else []
        database = self.config.target.database or "" if kind.target else ""
        self._aside(name, lambda: self._operate(database, steps, bool(kind.redeploy)))

    def _operate(self, database: str, steps: list[Step], redeploys: bool) -> None:
        self._steps(database, steps)
        if redeploys:
            apply(self.config, connect_odbc(self.server.odbc), mutant=self.plan.mutant)

    def _steps(self, database: str, steps: list[Step]) -> None:
        for step in steps:
            if isinstance(step, float):
                time.sleep(min(step, 3.0))
            else:
                self._quietly(database, step)

    def _aside(self, name: str, work: Callable[[], None]) -> None:
        """On a thread of its own; an operator's error is his own."""

        def runs() -> None:
            with suppress(Exception):
                work()

        self.struck[name] += 1
        thread = threading.Thread(target=runs, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _victims(self, whom: str) -> list[int]:
        if whom == SENDER:
            return [
                row[0]
                for row in self._ask(
                    "SELECT session_id FROM sys.dm_exec_sessions WHERE login_name = "
                    f"{literal(LOGIN)} ORDER BY session_id;",
                    "",
                )
            ]
        if whom == READER:
            return [
                row[0]
                for row in self._ask(
                    "SELECT spid FROM sys.dm_broker_activated_tasks ORDER BY spid;", ""
                )
            ]
        return []

    # ------------------------------------------------------------------ the server
    def _prepare(self) -> None:
        apply(self.config, connect_odbc(self.server.odbc), mutant=self.plan.mutant)
        self._ask(
            f"IF SUSER_ID({literal(LOGIN)}) IS NULL CREATE LOGIN {quote_name(LOGIN)} "
            f"WITH PASSWORD = {literal(PASSWORD)};",
            "",
        )
        name = self._ask("SELECT DB_NAME();", "")[0][0]
        self._ask(f"ALTER DATABASE {quote_name(name)} SET ALLOW_SNAPSHOT_ISOLATION ON;", "")
        for sql in Calls(self.config, self.files).application([LOGIN]):
            self._ask(sql, "")

    def _rest(self) -> None:
        """Everything on, the jobs, until nothing is on its way."""
        place = Place(self.config, 0, self.files)
        target = self.config.target.database or ""
        self._quietly(
            "",
            "IF (SELECT is_broker_enabled FROM sys.databases WHERE database_id = "
            "DB_ID()) = 0 ALTER DATABASE CURRENT SET ENABLE_BROKER;",
        )
        for side, database in (("initiator", ""), ("target", target)):
            queue = place.own(getattr(self.config.queues, side))
            for setting in ("ACTIVATION (STATUS = OFF)", "STATUS = ON, ACTIVATION (STATUS = ON)"):
                self._quietly(database, f"ALTER QUEUE {queue} WITH {setting};")
        if any(KINDS[name].redeploy for name in self.struck if name in KINDS):
            apply(self.config, connect_odbc(self.server.odbc), mutant=self.plan.mutant)
        self._quietly("", f"EXECUTE {place.own('usp_OpenGate')} @reason = N'rest';")
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self._quietly("", f"EXECUTE {place.own('usp_ResendStranded')} @olderThanSeconds = 0;")
            if not collect(self.config, self._ask, LOGIN).waiting:
                return
            time.sleep(1.0)

    def _ask(self, sql: str, database: str) -> list[Row]:
        with closing(self.server.connect()) as connection:
            if database:
                connection.execute(f"USE {quote_name(database)};")
            cursor = connection.execute(sql)
            while cursor.description is None and cursor.nextset():
                pass
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def _quietly(self, database: str, sql: str) -> None:
        """What may fail: a session that has gone, a dialog that is over."""
        with suppress(Exception):
            self._ask(sql, database)


def drop_database(server: Server, name: str) -> None:
    """The trial's own, whoever is still in it."""
    quoted = quote_name(name)
    with closing(Server("", with_database(server.odbc, "master")).connect()) as connection:
        connection.execute(f"ALTER DATABASE {quoted} SET SINGLE_USER WITH ROLLBACK IMMEDIATE;")
        connection.execute(f"DROP DATABASE {quoted};")

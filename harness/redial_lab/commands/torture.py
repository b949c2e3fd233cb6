"""``invoke torture``: callers, trouble, and a verdict from the callers' journals."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from redial.cli.errors import UserError, command
from redial.cli.server import open_server
from redial.render.quoting import quote_name
from redial.server import EMBEDDED_LABEL, Server
from redial.spark.jar import JarMissing, jdbc_jar
from redial_lab.torture.journal_verdict import MEANING
from redial_lab.torture.live import Live, drop_database
from redial_lab.torture.plan import Plan
from redial_lab.torture.shrink import shrunk, story
from redial_lab.torture.tally import Result, Tally
from redial_lab.torture.trial import run
from redial_lab.torture.trials import Order, chosen, results

LIVE = "hurried-audit,hurried-etl,hurried-orders,hurried-audit-two_databases"
SECONDS = 10.0
"""How long the callers of a trial on a server send."""

OUT = Path("var/torture")
SERVER = "the server that was named"


@command
def torture(
    config: str = "",
    *,
    minutes: float = 0.0,
    trials: int = 0,
    seed: int = 1,
    messages: int = 1500,
    mutant: str = "",
    workers: int = 1,
    replay: str = "",
    shrink: bool = True,
    server: str | None = None,
) -> int:
    """Run trials; 1 when one finds something, or when a variant had no acknowledged message.

    server: 'embedded' or an ODBC connection string: callers in processes of their own, over ODBC.
    """
    console = Console()
    if replay:
        return _replay(console, Path(replay))
    if server is not None:
        config = config or LIVE
    names = chosen(config)
    if not names:
        raise UserError(
            f"--config {config}", "no variant has that in its name", "leave it out for all of them"
        )
    order = Order(
        names,
        seed=seed,
        trials=trials or (0 if minutes else len(names)),
        minutes=minutes,
        messages=messages,
        mutant=mutant or None,
        workers=workers,
    )
    if server is not None:
        return _live(console, server, order)
    console.print(
        f"{len(names)} variants, seeds from {seed} on, about {messages} messages a trial ({EMBEDDED_LABEL})",
        highlight=False,
    )
    tally, began, bad = Tally(names), time.monotonic(), 0
    for one in results(order):
        tally.add(one)
        if one.findings:
            bad += 1
            _tell(console, one, shrink and bad <= 3)
        if tally.trials % 20 == 0:
            console.print(
                f"  {tally.trials} trials, {tally.counts['ok']:,} acknowledged, seed "
                f"{one.plan.seed}, {time.monotonic() - began:.0f} s",
                highlight=False,
            )
    _report(console, tally, time.monotonic() - began, EMBEDDED_LABEL)
    return 1 if tally.found or _unmet(console, tally) else 0


def _live(console: Console, server: str, order: Order) -> int:
    """Trials on a server, each in databases of its own that are dropped."""
    tally, began = Tally(order.names, switches=()), time.monotonic()
    java = _java(console)
    for plan in order.plans():
        with _stage(server, plan) as (opened, its_plan):
            one = Live(its_plan, opened, SECONDS, java).run()
        tally.add(one)
        console.print(
            f"seed {plan.seed} {plan.name}: {one.counts['ok']:,} acknowledged, "
            f"{len(one.findings)} findings",
            highlight=False,
        )
        for finding in one.findings[:10]:
            console.print(f"    {finding.kind}: {finding.what}", highlight=False, markup=False)
        if order.minutes and time.monotonic() >= began + order.minutes * 60:
            break
    _report(
        console, tally, time.monotonic() - began, EMBEDDED_LABEL if server == "embedded" else SERVER
    )
    return 1 if tally.found or _unmet(console, tally) else 0


@contextmanager
def _stage(server: str, plan: Plan) -> Iterator[tuple[Server, Plan]]:
    """The databases of one trial, named by its seed, and the plan that names them."""
    database = f"redial_torture_{plan.seed}"
    with open_server(server, database, create=True) as opened:
        apart = ""
        if plan.config["target"].get("database"):
            apart = f"{database}_target"
            plan = replace(
                plan, config={**plan.config, "target": {**plan.config["target"], "database": apart}}
            )
            with closing(opened.connect()) as connection:
                connection.execute(f"CREATE DATABASE {quote_name(apart)};")
        try:
            yield opened, plan
        finally:
            for name in filter(None, (database, apart)):
                drop_database(opened, name)


def _java(console: Console) -> tuple[str, Path] | None:
    """Java and Microsoft's driver for it; says what is missing, and that Send.java is left out."""
    command = shutil.which("java")
    try:
        if command is not None:
            return command, jdbc_jar()
        why = "there is no Java here"
    except JarMissing as missing:
        why = str(missing)
    console.print(f"docs/callers/Send.java is left out: {why}", highlight=False, markup=False)
    return None


def _tell(console: Console, one: Result, shrink: bool) -> None:
    """A trial that found something: its plan and story in files, made small first."""
    kinds = {finding.kind for finding in one.findings}
    console.print(
        f"[bold red]seed {one.plan.seed}[/] {one.plan.name}: {', '.join(sorted(kinds))}",
        highlight=False,
    )
    for finding in one.findings[:5]:
        console.print(f"    {finding.kind}: {finding.what}", highlight=False, markup=False)
    broke = "no verdict" in kinds  # run again, it would break again
    plan = shrunk(one.plan, kinds) if shrink and not broke else one.plan
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / f"{one.plan.seed}-{min(kinds).replace(' ', '_')}.json"
    file.write_text(plan.to_json(), encoding="utf-8")
    told = one.findings[0].what if broke else story(run(plan, record=True))
    file.with_suffix(".txt").write_text(told, encoding="utf-8")
    console.print(
        f"    story: {file.with_suffix('.txt')}; again: invoke torture --replay {file}",
        highlight=False,
        markup=False,
    )


def _replay(console: Console, file: Path) -> int:
    """One plan again, with its story."""
    try:
        plan = Plan.from_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"--replay {file}", str(error), "pass a file this command wrote") from error
    outcome = run(plan, record=True)
    console.print(story(outcome), highlight=False, markup=False, soft_wrap=True)
    console.print("found again" if outcome.verdict.findings else "found nothing")
    return 1 if outcome.verdict.findings else 0


def _report(console: Console, tally: Tally, seconds: float, label: str) -> None:
    """What was sent, what became of it, what struck. label: whose figures these are."""
    table = Table(title=f"verdict: torture ({label})")
    table.add_column("")
    table.add_column("count", justify="right")
    table.add_column("")
    counts = tally.counts
    for what, number, meaning in (
        (
            "trials",
            tally.trials,
            f"{tally.seconds / 3600:,.1f} hours of {'virtual' if tally.switches else 'real'} time",
        ),
        ("acknowledged", counts["ok"], "their callers were told so"),
        ("failed", counts["failed"], "their callers were told that they are not there"),
        ("unknown", counts["unknown"], "the answer was lost"),
        ("landed", counts["landed"], "different messages in Landing"),
        ("dead letters", counts["dead letters"], "kept with code and number"),
        ("repeated", counts["repeated"], "landed again"),
        (
            "one side left",
            counts["left to its lifetime"],
            "ended WITH CLEANUP by hand, and the other side's lifetime is not over",
        ),
        ("faults", sum(tally.struck.values()), f"of {len(tally.struck)} kinds"),
    ):
        table.add_row(what, f"{number:,}", meaning)
    for kind, meaning in MEANING.items():
        number = tally.found[kind]
        table.add_row(f"[red]{kind}[/]" if number else kind, str(number), f"trials: {meaning}")
    console.print(table)
    for what in (
        "way",
        "style",
        "level",
        "XACT_ABORT",
        "read committed snapshot",
        *(("switch",) if tally.switches else ()),
    ):
        console.print(
            f"acknowledged by {what}: "
            + ", ".join(
                f"{which} {number:,}"
                for (kind, which), number in sorted(tally.acknowledged.items())
                if kind == what
            ),
            highlight=False,
            markup=False,
        )
    for what, struck in (("faults", tally.struck), ("errors callers saw", tally.errors)):
        console.print(
            f"{what}: "
            + ", ".join(
                f"{which} {number:,}"
                for which, number in sorted(struck.items(), key=lambda item: -item[1])
            ),
            highlight=False,
            markup=False,
        )
    console.print(
        f"{counts['ok'] / max(seconds, 0.001):,.0f} acknowledged messages a second, "
        f"{seconds:.0f} s ({label})",
        highlight=False,
    )


def _unmet(console: Console, tally: Tally) -> bool:
    """Say what was not met; a variant without an acknowledged message is no success."""
    missed = tally.missed()
    silent = [name for name in missed if name.startswith("variant ")]
    others = [name for name in missed if name not in silent]
    if silent:
        console.print(
            f"[bold red]{len(silent)} variants without an acknowledged message[/]: "
            f"{', '.join(silent)[:600]}; next: more --minutes or --trials",
            highlight=False,
        )
    if others:
        console.print(f"not met in this run: {', '.join(others)}", highlight=False, markup=False)
    if not tally.found and not silent:
        console.print("[bold green]clean[/]: every message accounted for")
    return bool(silent)

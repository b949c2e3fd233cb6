"""Every command a user types: ``redial X``, and ``invoke X`` in a clone or a project folder.

Each only names its options and calls one function. What proves Redial is a package of its own,
``redial_lab``, which is imported when one of its commands is called.
"""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from redial.cli.deploy_commands import (
    CONFIG,
    adopt,
    baseline,
    deploy,
    drift,
    history,
    plan,
    repair,
    rollback,
    uninstall,
    verify,
)
from redial.cli.jobs import audit, land
from redial.cli.operate_commands import deadletters, doctor, metrics, report, top, trace

__all__ = [
    "adopt",
    "audit",
    "baseline",
    "deadletters",
    "deploy",
    "doctor",
    "drift",
    "history",
    "land",
    "metrics",
    "plan",
    "repair",
    "report",
    "rollback",
    "top",
    "trace",
    "uninstall",
    "verify",
]

_SERVER = "'embedded' (default), or an ODBC connection string; also from REDIAL_SERVER"


@task(
    help={
        "port": "0 takes a free one",
        "seed": "of every id the broker makes",
        "quantum": "statements a session runs before the next one has its turn",
        "product": 'version and edition it says it is: "2014", "2016 SP1", "Azure SQL Database" ...',
        "switch": "name=value of what no document settles (docs/generated/coverage.md); repeatable",
        "password-file": "its first line is the password of sa; without one it is a new one, printed",
    },
    iterable=["switch"],
)
def broker(
    _: Context,
    switch: list[str],
    port: int = 1433,
    seed: int = 0,
    quantum: int = 200,
    product: str = "",
    password_file: str = "",
) -> None:
    """Start the embedded broker; prints ODBC and JDBC lines when it is ready."""
    from redial.cli.broker import broker as run

    run(
        port=port,
        seed=seed,
        quantum=quantum,
        switch=switch,
        product=product or None,
        password_file=password_file,
    )


@task(
    help={
        "quick": "5,000 records and no Spark",
        "mutant": "deploy the procedures of sql/mutants/NAME instead: exit status 1, and why",
        "records": "how many flights to send",
        "spark": "the last step; --no-spark leaves it out",
    }
)
def demo(
    _: Context, quick: bool = False, mutant: str = "", records: int = 0, spark: bool = True
) -> None:
    """Send real data through recycled dialogs on the embedded broker, and account for it."""
    from redial_lab.commands.demo import demo as run

    run(quick, mutant or None, records or None, spark)


@task(
    positional=["folder"],
    help={
        "folder": "to make; nothing in it is overwritten",
        "name": "of its first configuration, and of the schema; 'messages' by default",
    },
)
def init(_: Context, folder: str, name: str = "messages") -> None:
    """Make a project folder: a configuration with its T-SQL, a CI example, a README."""
    from redial.cli.init import init as run

    run(folder, name)


@task(
    help={
        "config": CONFIG + "; all by default",
        "check": "fail when a committed file is stale",
        "sqlcmd": "only write, into this folder, files whose name is a variable of sqlcmd",
    }
)
def render(_: Context, config: str = "", check: bool = False, sqlcmd: str = "") -> None:
    """Render sql/configs and sql/templates into sql/generated."""
    from redial.cli.configs import render as run
    from redial.cli.configs import render_with_variables

    if sqlcmd:
        render_with_variables(sqlcmd)
    else:
        run(config or None, check)


@task(
    help={
        "select": "pytest's -k",
        "full": "at night, 36 to 73 minutes: a third of what the gate leaves out, and searches to their end",
        "part": "K/N, of --full: what has passed on this commit is not run again",
        "near": "only the tests of what has changed, a minute for a few files; 1 where a file has none",
        "since": "with --near: changed since this commit; since the branch left main by default",
        "repeat": "with --near: how often new tests are run",
    }
)
def test(
    _: Context,
    select: str = "",
    full: bool = False,
    near: bool = False,
    since: str = "",
    repeat: int = 1,
    part: str = "",
) -> None:
    """For makers: run tests: those near a change (1 minute), the gate (30), the night (--full, 36 to 73)."""
    from redial_lab.commands.test import test as run

    run(select or None, full, near, since, repeat, part)


@task(
    iterable=["path"],
    help={
        "path": "a file or directory to lint by rules, repeatable; the package itself by default",
        "config": CONFIG + "; all by default",
        "fix": "put the templates' layout and capitals right, where the meaning stays",
    },
)
def lint(_: Context, path: list[str] | None = None, config: str = "", fix: bool = False) -> None:
    """Check templates by style and rendered files by rules, our parser and Microsoft's."""
    from redial.cli.lint import lint as run

    run(path or [], config or None, fix)


@task(
    help={
        "what": "quick (every figure but the long loads), endpoints, day, spikes, explore, reads, "
        "spark or cost",
        "json": "also write the figures to this file; with --compare a line of it",
        "runs": "runs per quick figure",
        "compare": "a commit, measured in turns with this code",
    },
)
def bench(
    _: Context, what: str = "quick", json: str = "", runs: int = 3, compare: str = ""
) -> None:
    """For makers: measure the embedded broker; its figures say nothing about SQL Server."""
    from redial_lab.commands.bench import bench as run

    run(what, json or None, runs, compare)


@task(
    help={
        "scenario": "a name; a wrong one lists them all",
        "transitions": "bound of a search",
        "file": "your own scripts, sessions and invariants (docs/explorer-files.md)",
        "against": "another such file, the old text: the outcomes that only one of the two comes to",
        "setup": 'a setup, such as "key=pool senders=1 faults=kill" (docs/explorer-method.md)',
        "walks": "so many schedules instead of every state",
        "seed": "of the walks",
        "changes": "PCT with so many changes of priority; without it every step is as likely",
        "vary": "search again under every value of every switch of the engine that is asked for",
        "orders": "every order of dependent steps, without hashing; for small scenarios",
        "fewer": "leave out orders of independent steps: fewer states, the same outcomes",
        "replay": "take exactly the steps of a word a search has printed (docs/traces.md)",
        "out": "folder for each violation's steps, picture and script for query windows",
        "past": "search what may happen after a violation, too",
        "heat": "show which statements ran, and how often",
        "statements-atomic": "nobody comes in inside a statement: fewer states, and the verdict says so",
        "explain-hash": "print what of a state counts, what does not, and why; search nothing",
        "list": "print the scenarios, the fields of a setup, faults, claims and switches",
    }
)
def explore(
    _: Context,
    scenario: str = "two_phase",
    transitions: int = 2_000_000,
    file: str = "",
    against: str = "",
    setup: str = "",
    walks: int = 0,
    seed: int = 1,
    changes: int = -1,
    vary: bool = False,
    orders: bool = False,
    fewer: bool = False,
    replay: str = "",
    out: str = "",
    past: bool = False,
    heat: bool = False,
    statements_atomic: bool = False,
    explain_hash: bool = False,
    list: bool = False,
) -> None:
    """Search every state of T-SQL, ours or yours; show the shortest trace of what goes wrong."""
    from redial_lab.commands.explore import explore as run

    run(
        scenario=scenario,
        transitions=transitions,
        file=file,
        against=against,
        setup=setup,
        walks=walks,
        seed=seed,
        changes=changes,
        vary=vary,
        orders=orders,
        replay=replay,
        out=out,
        fewer=fewer,
        past=past,
        heat=heat,
        statements_atomic=statements_atomic,
        explain_hash=explain_hash,
        list=list,
    )


@task(
    positional=["name"],
    help={
        "name": "of the scenario; 'list' lists them",
        "server": _SERVER + "; it makes a database of its own there, and drops it",
        "mutant": "install this known-bad variant of sql/mutants instead: exit status 1, and why",
        "keep": "leave the database, to look at it",
    },
)
def scenario(
    _: Context, name: str, server: str | None = None, mutant: str = "", keep: bool = False
) -> None:
    """Tell one story of load and trouble on a server, and account for every message."""
    from redial_lab.commands.scenario import scenario as run

    run(name, server, mutant, keep)


@task(
    help={
        "server": _SERVER,
        "name": "one probe of sql/probes; all by default",
        "json": "also write the findings to this file",
        "evidence": "folder for a real server's record; evidence/live by default",
    }
)
def probe(
    _: Context, server: str | None = None, name: str = "", json: str = "", evidence: str = ""
) -> None:
    """For makers: ask a server what no document says; exit status 1 when it differs from our choices."""
    from redial_lab.commands.probe import probe as run

    run(server, name, json, evidence)


@task(
    help={
        "only": "generated mutants whose names fit, * for anything; leaves the sixteen out",
        "generated": "also every generated one: an hour, and what is known is not hunted again",
        "write": "write docs/generated/mutants.md",
        "check": "only say what is stale on docs/generated/mutants.md and in "
        "sql/mutants/equivalent.toml (exit status 1), and how many results are old",
        "workers": "processes for the generated ones",
    }
)
def mutants(
    _: Context,
    only: str = "",
    generated: bool = False,
    write: bool = False,
    check: bool = False,
    workers: int = 1,
) -> None:
    """For makers: look for the sixteen mistakes of history, and for mutants made from our own procedures."""
    from redial_lab.commands.mutants import mutants as run

    run(
        only=only,
        generated=generated,
        write=write,
        check=check,
        workers=workers,
    )


@task(
    help={
        "only": "cells (key recycle strategy hint isolation caller) and searches whose names fit",
        "limit": "at most so many of each; 0 searches nothing",
        "write": "write docs/generated/answer-matrix.md from what is kept in evidence/answer-matrix.json",
        "traces": "find the traces the page links: evidence/traces.json",
        "show": "take the steps of a kept trace again and print them (docs/traces.md)",
        "out": "with --show: folder for its steps, picture and script for query windows",
        "check": "only say what is stale on the page (exit status 1), and how many results are old",
        "workers": "processes",
        "again": "search again what another explorer or broker has searched",
        "defaults": "only at the defaults of the engine's switches",
        "oldest": "so many results of an older engine or text, the oldest first, at the defaults",
    }
)
def matrix(
    _: Context,
    only: str = "*",
    limit: int = -1,
    write: bool = False,
    traces: bool = False,
    check: bool = False,
    workers: int = 2,
    again: bool = False,
    defaults: bool = False,
    show: str = "",
    out: str = "",
    oldest: int = -1,
) -> None:
    """For makers: search every combination of our choices: docs/generated/answer-matrix.md."""
    from redial_lab.commands.matrix import matrix as run

    run(
        only=only,
        limit=limit,
        write=write,
        traces=traces,
        check=check,
        workers=workers,
        again=again,
        defaults=defaults,
        show=show,
        out=out,
        oldest=oldest,
    )


@task(help={"check": "write nothing; show what is stale, exit status 1"})
def pages(_: Context, check: bool = False) -> None:
    """For makers: make every generated page in docs/."""
    from redial_lab.commands.pages import pages as run

    run(check)


@task(help={"fast": "leave out what takes longer than some seconds: pages and invoke lint"})
def check(_: Context, fast: bool = False) -> None:
    """For makers: check that the house rules hold: layout, arrows, renderings, pages, lint. CI runs it."""
    from redial_lab.commands.check import check as run

    run(fast)


@task(help={"check": "only say whether the committed page is stale"})
def coverage(_: Context, check: bool = False) -> None:
    """For makers: write docs/generated/coverage.md: what the broker supports, refuses and does otherwise."""
    from redial_lab.commands.coverage import coverage as run

    run(check)


@task(
    help={
        "config": "words in the names of variants, comma-separated; all by default",
        "minutes": "how long to go on; without it and --trials, one trial a variant",
        "trials": "how many trials",
        "seed": "of the first trial; the others follow",
        "messages": "about how many messages a trial sends",
        "mutant": "a known-bad text of sql/mutants, to see it caught",
        "workers": "processes",
        "replay": "a plan this command has written: run it again and tell its story",
        "shrink": "make what is found small; --no-shrink writes it as it is",
        "server": _SERVER.replace(" (default)", "") + ": callers in processes of their own, over "
        "ODBC; without it, in this process on virtual time",
    }
)
def torture(
    _: Context,
    config: str = "",
    minutes: float = 0.0,
    trials: int = 0,
    seed: int = 1,
    messages: int = 1500,
    mutant: str = "",
    workers: int = 1,
    replay: str = "",
    shrink: bool = True,
    server: str | None = None,
) -> None:
    """For makers: callers of every kind and trouble that is never polite; every message accounted for."""
    from redial_lab.commands.torture import torture as run

    run(
        config=config,
        minutes=minutes,
        trials=trials,
        seed=seed,
        messages=messages,
        mutant=mutant,
        workers=workers,
        replay=replay,
        shrink=shrink,
        server=server,
    )

"""The traces the answer matrix links: one for each cause, in evidence/traces.

Every cause as numbered steps; the first of each class of violation also as a picture and as a
script for query windows. A file says in its first lines what it is of and which text was searched:
while both are the same, it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

from redial.paths import EVIDENCE
from redial.server import EMBEDDED_LABEL
from redial_broker.engine.switches import parse
from redial_lab.explore.scenario import Scenario
from redial_lab.explore.search import Limits, search
from redial_lab.explore.shorten import readable
from redial_lab.explore.trace import record
from redial_lab.explore.trace_files import evidence
from redial_lab.proof.kept_searches import engine_digest
from redial_lab.proof.matrix import STORIES, TRANSITIONS, Cell, Watch, scenario
from redial_lab.proof.matrix_kept import Judged
from redial_lab.proof.matrix_verdict import Proof
from redial_lab.proof.mutant_search import forked
from redial_lab.proof.questions import SEARCHES
from redial_lab.proof.setups import Setup

FOLDER = EVIDENCE / "traces"
SECONDS = 600.0


def made(proof: Proof) -> Scenario:
    """The scenario a proof was met in; a deadlock ends a run only where one is looked for."""
    switches = parse(proof.value.split("+") if proof.value else [])
    if not proof.story:
        plain = SEARCHES[proof.cell].made.scenario()
        return replace(plain, switches={**plain.switches, **switches})
    watch = None if proof.what == "deadlocks" else Watch()
    return scenario(Cell.parse(proof.cell), STORIES[proof.story], watch, switches=switches)


def command(proof: Proof) -> str:
    """What replays it with its word behind; '' where no option makes the scenario."""
    if not proof.story or " " in proof.value:  # some values have spaces
        return ""
    setup = Cell.parse(proof.cell).setup(STORIES[proof.story])
    plain, words = Setup(), []
    for each in fields(setup):
        value = getattr(setup, each.name)
        if value != getattr(plain, each.name):
            shown = (
                "+".join(value)
                if isinstance(value, tuple)
                else str(int(value) if isinstance(value, bool) else value)
            )
            words.append(f"{each.name}={shown}")
    if proof.value:
        words.append(f"switches={proof.value.replace('=', ':')}")
    return f'invoke explore --setup "{" ".join(words)}"'


def head(proof: Proof, judged: Judged) -> str:
    """How a trace's file begins: what it is of, and of which text. The engine stands behind it."""
    where = STORIES[proof.story].title if proof.story else SEARCHES[proof.cell].title
    lines = [proof.name, f"{proof.cell}: {where}"]
    if proof.value:
        lines.append(f"under the value {proof.value} of a switch of the engine")
    lines.append(f"{EMBEDDED_LABEL}; T-SQL {judged.text}")
    return "\n".join(lines)


ENGINE = re.compile(r"; T-SQL \w+; engine (\w+)\n")
"""Where a trace's file says which engine took its steps."""


def ages(engine: str = "", folder: Path = FOLDER) -> str:
    """How many traces are of today's engine. engine: its digest; '' works it out."""
    engine = engine or engine_digest()
    said = [ENGINE.search(path.read_text("utf-8")) for path in folder.glob("*.txt")]
    today = sum(each is not None and each[1] == engine for each in said)
    return f"{len(said)} traces: {today} of this engine, {len(said) - today} of an older engine"


def lasting(text: str) -> str:
    """A text whose words say no state behind an @: its hash changes with the explorer, the steps
    do not."""
    return re.sub(r"(replay:? [\w.:]+)@[0-9a-f]{8}", r"\1", text)


def write(proof: Proof, judged: Judged, whole: bool, folder: Path = FOLDER) -> str:
    """Write one cause's files. whole: picture and script too. Returns what was done."""
    plain = made(proof)
    result = search(plain, Limits(transitions=TRANSITIONS, until=proof.name))
    if proof.name not in result.violations:
        return f"{proof.cause}: NOT MET AGAIN"
    violation = result.violations[proof.name]
    folder.mkdir(parents=True, exist_ok=True)
    if whole:
        found = evidence(plain, violation, command(proof))
        text, trace = found.text, found.trace
        (folder / f"{proof.cause}.html").write_text(lasting(found.html), "utf-8")
        (folder / f"{proof.cause}.sql").write_text(found.script.text, "utf-8")
    else:
        trace = record(plain, readable(plain, violation))
        text = "\n".join([*trace.lines(), ""])
    begins = f"{head(proof, judged)}; engine {engine_digest()}\n\n"
    again = f"  {command(proof)} --replay {trace.seed}\n" if command(proof) else ""
    (folder / f"{proof.cause}.txt").write_text(begins + lasting(text + again), "utf-8")
    return f"{proof.cause}: {len(trace.steps)} steps"


def write_all(
    proofs: Mapping[str, Proof],
    results: Mapping[str, Judged],
    progress: Callable[[str], None],
    workers: int = 2,
    folder: Path = FOLDER,
) -> int:
    """Write what is missing or of another text, remove what nobody links. Returns how many could
    not be written."""
    whole: dict[str, str] = {}
    for cause, proof in proofs.items():
        if proof.what:
            whole.setdefault(proof.what, cause)
    engine_digest()  # worked out here, not in every process forked
    waiting = [
        proof
        for cause, proof in proofs.items()
        if not written(proof, results[proof.cell], cause in whole.values(), folder)
    ]
    for path in folder.glob("*.*"):
        if path.stem not in proofs or (path.suffix != ".txt" and path.stem not in whole.values()):
            path.unlink()

    def one(proof: Proof) -> str:
        return str(
            forked(
                lambda: write(proof, results[proof.cell], proof.cause in whole.values(), folder),
                SECONDS,
            )
        )

    failed = 0
    with ThreadPoolExecutor(workers) as pool:
        for said in pool.map(one, waiting):
            failed += not said.endswith(" steps")
            progress(said)
    return failed


def written(proof: Proof, judged: Judged, whole: bool, folder: Path = FOLDER) -> bool:
    """Whether a cause's files are there and of this text."""
    path = folder / f"{proof.cause}.txt"
    return (
        path.exists()
        and path.read_text("utf-8").startswith(head(proof, judged))
        and (
            not whole or (path.with_suffix(".html").exists() and path.with_suffix(".sql").exists())
        )
    )

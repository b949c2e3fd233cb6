"""The traces the answer matrix names: one for each cause, kept as the word that replays it.

A line of ``evidence/traces.json`` says what a trace is of and which text was searched: while both
are the same, and today's engine meets it again, it is left alone. Turns, picture and script are made
of it (``shown``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from redial.paths import EVIDENCE
from redial.server import EMBEDDED_LABEL
from redial_broker.engine.switches import parse
from redial_lab.explore.replay_words import SeedError, decode, encode
from redial_lab.explore.scenario import Scenario
from redial_lab.explore.search import ALSO, Limits, Violation, search
from redial_lab.explore.shorten import readable
from redial_lab.explore.trace_files import Evidence, evidence
from redial_lab.proof.kept_searches import engine_digest
from redial_lab.proof.matrix import STORIES, TRANSITIONS, Cell, Watch, essence, scenario
from redial_lab.proof.matrix_kept import Judged
from redial_lab.proof.matrix_verdict import Proof
from redial_lab.proof.mutant_search import forked
from redial_lab.proof.questions import SEARCHES

KEPT = EVIDENCE / "traces.json"
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Replay:
    """What is kept of a trace."""

    proof: Proof
    """What it is of."""
    text: str
    """Digest of the T-SQL it was found in (``essence``)."""
    engine: str
    """The engine that took its steps (``engine_digest``)."""
    steps: int
    word: str
    """Of ``replay_words``, without the state it ends in: that hash changes with the explorer, the
    steps do not."""

    def stale(self) -> bool:
        """Whether the text has changed since."""
        return self.text != text_of(self.proof)

    def met(self) -> tuple[Scenario, Violation]:
        """Its steps, taken again. Raises SeedError where one is not possible."""
        plain = made(self.proof)
        return plain, decode(plain, self.word, to_any_state=True)

    def today(self) -> Replay | None:
        """The same of today's engine, where its steps still lead to its violation."""
        try:
            _, violation = self.met()
        except SeedError:
            return None
        if self.proof.name not in violation.name.split(ALSO):
            return None
        return replace(self, engine=engine_digest())

    def title(self) -> str:
        """What it is of, in three lines or four."""
        proof = self.proof
        where = STORIES[proof.story].title if proof.story else SEARCHES[proof.cell].title
        lines = [proof.name, f"{proof.cell}: {where}"]
        if proof.value:
            lines.append(f"under the value {proof.value} of a switch of the engine")
        return "\n".join([*lines, f"{EMBEDDED_LABEL}; T-SQL {self.text}; engine {self.engine}"])

    def shown(self) -> Evidence:
        """Its steps, picture and script for query windows."""
        return evidence(*self.met(), exact=True)


def made(proof: Proof) -> Scenario:
    """The scenario a proof was met in; a deadlock ends a run only where one is looked for."""
    switches = parse(proof.value.split("+") if proof.value else [])
    if not proof.story:
        plain = SEARCHES[proof.cell].made.scenario()
        return replace(plain, switches={**plain.switches, **switches})
    watch = None if proof.what == "deadlocks" else Watch()
    return scenario(Cell.parse(proof.cell), STORIES[proof.story], watch, switches=switches)


def text_of(proof: Proof) -> str:
    """Digest of the T-SQL there is now."""
    return essence(Cell.parse(proof.cell)) if proof.story else SEARCHES[proof.cell].made.essence()


# ---------------------------------------------------------------------- keeping
def kept(path: Path = KEPT) -> dict[str, Replay]:
    """Every trace that is kept, by cause."""
    lines = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {cause: Replay(Proof(**of), **rest) for cause, (of, rest) in lines.items()}


def keep(traces: Iterable[Replay], path: Path = KEPT) -> None:
    """Write them, one line for each."""
    lines = []
    for one in sorted(traces, key=lambda each: each.proof.cause):
        rest = asdict(one)
        lines.append(f"{json.dumps(one.proof.cause)}: {json.dumps([rest.pop('proof'), rest])}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def ages(engine: str = "", path: Path = KEPT) -> str:
    """How many traces are of today's engine. engine: its digest; '' works it out."""
    engine, found = engine or engine_digest(), kept(path)
    today = sum(each.engine == engine for each in found.values())
    return f"{len(found)} traces: {today} of this engine, {len(found) - today} of an older engine"


# ---------------------------------------------------------------------- finding
def find(proof: Proof) -> Replay | str:
    """The shortest trace of a cause, or why there is none."""
    plain = made(proof)
    result = search(plain, Limits(transitions=TRANSITIONS, until=proof.name))
    if proof.name not in result.violations:
        return "NOT MET AGAIN"
    path = readable(plain, result.violations[proof.name]).path
    word = encode(plain, path).partition("@")[0]
    return Replay(proof, text_of(proof), engine_digest(), len(path), word)


def write_all(
    proofs: Mapping[str, Proof],
    results: Mapping[str, Judged],
    progress: Callable[[str], None],
    workers: int = 2,
    path: Path = KEPT,
) -> int:
    """Find what is missing, of another text, or not met again by today's engine; drop what nobody
    links. Returns how many could not be found."""
    engine = engine_digest()  # worked out here, not in every process forked
    old = kept(path)
    found = {}
    for cause, proof in proofs.items():
        one = old.get(cause)
        if one is None or (one.proof, one.text) != (proof, results[proof.cell].text):
            continue
        again = one if one.engine == engine else one.today()
        if again is not None:
            found[cause] = again
    waiting = [proof for cause, proof in proofs.items() if cause not in found]
    with ThreadPoolExecutor(workers) as pool:
        for proof, said in zip(
            waiting,
            pool.map(lambda each: forked(lambda: find(each), SECONDS), waiting),
            strict=True,
        ):
            if isinstance(said, Replay):
                found[proof.cause] = said
            progress(f"{proof.cause}: {said if isinstance(said, str) else f'{said.steps} steps'}")
    keep(found.values(), path)
    return len(proofs) - len(found)

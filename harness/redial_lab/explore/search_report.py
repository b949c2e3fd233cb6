"""What a search or a set of walks says of itself, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from redial.paths import ROOT
from redial_lab.explore.scenario import GOING_ON, Scenario
from redial_lab.explore.search import NOT_COVERED, Result
from redial_lab.git import head


def report(scenario: Scenario, result: Result, read: set[str] | None = None) -> list[str]:
    """Figures of a search. read: switches it asked for."""
    rate = result.transitions / result.seconds if result.seconds else 0
    faults = {kind: n for kind, n in sorted(result.taken.items()) if kind not in GOING_ON}
    going = {kind: n for kind, n in sorted(result.taken.items()) if kind in GOING_ON}
    seed = "not used: every order is searched" if result.seed is None else str(result.seed)
    lines = [
        f"scenario     {result.scenario}",
        f"result       {', '.join(result.violations) or 'no violation'}; {result.extent}",
        f"states       {result.states}{' of the reduced graph' * result.fewer}, "
        f"{result.ends} at rest, depth {result.deepest}"
        + ("" if result.walks else f", {result.circles} circles"),
        f"transitions  {result.transitions} ({_counted(going)})",
        f"faults       {_counted(faults) if scenario.all_faults else 'none in this scenario'}",
        f"not covered  {NOT_COVERED}",
        f"atomic       {_in_one_go(scenario)}",
        f"switches     {_switches(scenario, read)}",
        f"seed         {seed}",
        f"commit       {head(ROOT)}",
        f"seconds      {result.seconds:.1f}, {rate:.0f} transitions/s",
    ]
    if result.whole_because:
        lines.append(
            f"note         the whole graph, not a reduced one: {result.whole_because[:160]}"
        )
    if result.opaque:
        lines.append(
            f"note         not reduced at {len(result.opaque)} places of the T-SQL, which depend on "
            f"more than they were seen to read: {'; '.join(result.opaque)}"
        )
    lines += _looked_at(scenario, result, read)
    if result.walks:
        lines.insert(3, f"walks        {result.walks}")
    lines += [
        f"at rest      {times} x {account}" for account, times in result.accounts.most_common(8)
    ]
    lines += [f"note         {note}" for note in scenario.notes]
    return lines


def _looked_at(scenario: Scenario, result: Result, read: set[str] | None) -> Iterator[str]:
    """What a reader must know before he believes the result."""
    if result.cut:
        yield (
            f"not seen     what may happen after {result.cut} states in which something is violated "
            "(--past goes on)"
        )
    if result.counted:
        found = ", ".join(sorted(result.counted))
        yield f"counted too  {found}, which its T-SQL reads (--explain-hash)"
    if not result.orders:
        yield f"hashes       128 bits; chance that two states shared one: {_chance(result.states)}"
    for fault in scenario.all_faults:
        if fault.kind not in result.struck:
            possible = result.offered[fault.kind]
            where = f"possible in {possible} states" if possible else "possible in no state"
            yield f"not struck   {fault.kind}: {where}"
    fixed = sorted((read or set()) - set(scenario.switches))
    if fixed:
        yield f"not varied   {len(fixed)} switches had one value each (--vary): {', '.join(fixed)}"
    yield from _never_done(scenario, result)
    for name in result.unseen:
        yield f"in vain      {name}: this was never so"
    claims = {witness.claim for witness in scenario.witnesses}
    if claims:
        met = len(scenario.witnesses) - len(result.unseen)
        yield f"witnesses    {met} of {len(scenario.witnesses)} met, for {len(claims)} claims"


def _never_done(scenario: Scenario, result: Result) -> Iterator[str]:
    """Batches that were never seen to end without an error: a name misspelled, perhaps."""
    where = "" if result.ended and not result.cut else ", in what was searched"
    for number, client in enumerate(scenario.clients if result.ends else ()):
        seen = [told[number] for told in result.told]
        for batch in range(len(client.batches)):
            found = {results[batch] for results in seen if len(results) > batch}
            if () not in found:
                errors = sorted({str(error) for numbers in found for error in numbers})
                how = f"error {', '.join(errors)} each time" if errors else "it never ended"
                yield f"never done   {client.name}, batch {batch + 1}: {how}{where}"


def _chance(states: int) -> str:
    """That two of so many states have one hash of 128 bits by chance: at most n * n / 2 ** 129."""
    return f"{states * states / 2**129:.0e}" if states > 1 else "0"


def _in_one_go(scenario: Scenario) -> str:
    queues = ", ".join(sorted(scenario.in_one_go))
    found = f"readers of {queues} run in one step" if queues else "no reader runs in one step"
    return (
        f"{found}; each statement is one step unless it waits"
        if scenario.statements_atomic
        else found
    )


def _counted(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in kinds.items()) or "none struck"


def _switches(scenario: Scenario, read: set[str] | None) -> str:
    chosen = ", ".join(f"{name} = {value}" for name, value in scenario.switches.items())
    asked = f"{len(read)} asked for: {', '.join(sorted(read))}" if read else ""
    return "; ".join(part for part in (chosen or "all at their defaults", asked) if part)

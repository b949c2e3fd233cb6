"""What ``invoke mutants`` does: hunt, print, write docs/mutants.md."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase

from rich.console import Console

from harness.proof.battery import WANTED, scenario
from harness.proof.hunt import Found, generated, hunt, prepare
from harness.proof.mutants import HISTORY, find_listed, shortened
from harness.proof.mutants_page import PAGE, kept, listed_row, register, stale, text


def all_names(only: str = "*") -> list[str]:
    """Every generated mutant of every configuration of the cases, in their order."""
    configs = {plain.model_dump_json(): plain for _, plain in map(scenario, WANTED.values())}
    names = dict.fromkeys(name for config in configs.values() for name in generated(config))
    return [name for name in names if fnmatchcase(name, only)]


def check_page() -> int:
    """Say what is stale on the page and in the register; 1 when something is."""
    problems = stale(all_names())
    print("\n".join(problems) or "docs/mutants.md: up to date")
    return 1 if problems else 0


def main(only: str, made: bool, write: bool, workers: int) -> int:
    """The sixteen, unless only some generated ones are asked for; the generated ones when made."""
    console = Console()
    listed, found = kept()
    missed = 0
    if not only:
        listed = _sixteen(console)
        missed = sum(not row["found"] for row in listed)
    if made:
        for each in _generated(all_names(only or "*"), workers):
            found[each.name] = each
            console.print(_line(each), markup=False, highlight=False, soft_wrap=True)
    if write:
        order = {name: number for number, name in enumerate(all_names())}
        rows = sorted((f for f in found.values() if f.name in order), key=lambda f: order[f.name])
        PAGE.write_text(text(listed, rows, register()), "utf-8")
        console.print(f"docs/mutants.md: {len(rows)} generated ones", markup=False)
    return 1 if missed else 0


def _sixteen(console: Console) -> list[dict[str, str]]:
    rows, seconds = [], 0.0
    for number in HISTORY:
        hit = find_listed(number)
        seconds += hit.seconds
        steps = len(shortened(hit).path) if hit.violated else 0
        rows.append(listed_row(hit, steps))
        console.print(f"{number:2} {hit.mutant}: {hit.violation or 'NOT FOUND'}; {hit.states} "
                      f"states, {hit.transitions} transitions, {hit.seconds:.1f} s, shortest "
                      f"trace {steps} steps", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{sum(bool(row['found']) for row in rows)} of {len(rows)} found in "
                  f"{seconds:.1f} s together, installations included", markup=False)
    return rows


def _generated(names: list[str], workers: int) -> Iterable[Found]:
    cases = prepare()
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda name: hunt(name, cases), names)


def _line(found: Found) -> str:
    how = f"{found.claim} ({found.case})" if found.claim else "NOT FOUND"
    return (f"{found.name}: {how}; {found.states} states, {found.transitions} transitions, "
            f"{found.steps} steps, {found.seconds:.1f} s")

"""What ``invoke mutants`` does: hunt, print, write docs/generated/mutants.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import partial

from rich.console import Console

from redial_lab.explore.shorten import switches
from redial_lab.proof.case_scenario import scenario
from redial_lab.proof.cases import CASES, LARGE, cases_of
from redial_lab.proof.kept_ages import Ages
from redial_lab.proof.kept_searches import Remembered, Search, hunt_digest
from redial_lab.proof.mutant_search import (
    Case,
    Found,
    counts,
    generated,
    hunt,
    prepare,
    summed,
    texts,
)
from redial_lab.proof.mutants import HISTORY, find_listed, shortened
from redial_lab.proof.mutants_page import PAGE, kept, listed_row, register, stale, text

OFTEN = 20
"""After so many mutants what is known is written."""


UNFINISHED = ""
"""Stands for the cases a survivor was not hunted in yet."""


def all_names(only: str = "*") -> list[str]:
    """Every generated mutant of every configuration of the cases, in their order."""
    configs = {plain.model_dump_json(): plain for _, plain in map(scenario, CASES.values())}
    names = dict.fromkeys(name for config in configs.values() for name in generated(config))
    return [name for name in names if fnmatchcase(name, only)]


def check_page() -> int:
    """Say what is stale on the page and in the register, and how old the results are; 1 when
    something is stale. An older engine or text alone is not: the page still says what was found."""
    remembered, names = Remembered(), all_names()
    problems = stale(names, remembered_of(remembered))
    print("\n".join([*problems, f"docs/generated/mutants.md: {ages(remembered, names).verdict()}"]))
    return 1 if problems else 0


def text_now() -> str:
    """docs/generated/mutants.md as it follows from what is remembered; nothing is hunted."""
    found = remembered_of(Remembered())
    return text(kept(), found, register(), all_names())


def ages(remembered: Remembered, names: Iterable[str], engine: str = "") -> Ages:
    """How many results speak of today. names: of the mutants there are. engine: its digest; ''
    works it out, which takes seconds."""
    engine, now = engine or hunt_digest(), texts()
    found = Ages("invoke mutants --generated --write")
    rows = {row["mutant"].strip("`"): Search(row["engine"]) for row in kept()}
    for listed in HISTORY.values():
        row = rows.get(listed.mutant)
        if row is None:
            found.missing += 1
        else:
            found.take(row.engine == engine, row.text == listed.text if row.text else None)
    for name in names:
        searches = remembered.found.get(name, {UNFINISHED: Search("")})
        if UNFINISHED in searches:
            found.missing += 1
            continue
        caught = any(each.claim for each in searches.values())
        wanted = searches if caught else {*searches, *filter(partial(now, name), cases_of(name))}
        found.take(
            all(each.engine == engine for each in searches.values()),
            _of_today(searches, {case: now(name, case) for case in wanted}),
        )
    return found


def _of_today(searches: Mapping[str, Search], wanted: Mapping[str, str]) -> bool | None:
    """Whether these are the searches of today's texts, by case; None where one does not say."""
    if any(
        case not in searches or searches[case].text not in ("", text)
        for case, text in wanted.items()
    ):
        return False
    return None if any(not searches[case].text for case in wanted) else True


def remembered_of(remembered: Remembered) -> list[Found]:
    """What became of each mutant that was hunted to the end."""
    return [
        summed(name, searches)
        for name, searches in remembered.found.items()
        if UNFINISHED not in searches
    ]


def main(only: str, made: bool, write: bool, workers: int) -> int:
    """The sixteen, unless only some generated ones are asked for; the generated ones when made."""
    console, remembered, names = Console(), Remembered(), all_names()
    listed, missed = kept(), 0
    if not only:
        listed = _sixteen(console)
        missed = sum(not row["found"] for row in listed)
    if made:
        cases = prepare()
        for each in _generated(names, only or "*", workers, remembered, cases):
            console.print(_line(each), markup=False, highlight=False, soft_wrap=True)
    if write:
        PAGE.write_text(text(listed, remembered_of(remembered), register(), names), "utf-8")
        console.print(f"docs/generated/mutants.md: {len(names)} generated ones", markup=False)
    return 1 if missed else 0


def _sixteen(console: Console) -> list[dict[str, str]]:
    rows, seconds = [], 0.0
    for number in HISTORY:
        hit = find_listed(number)
        seconds += hit.seconds
        turns = steps = 0
        if hit.violated:
            found = shortened(hit)
            turns, steps = switches(list(found.path)), len(found.path)
        rows.append(listed_row(hit, turns, steps))
        console.print(
            f"{number:2} {hit.mutant}: {hit.violation or 'NOT FOUND'}; {hit.states} "
            f"states, {hit.transitions} transitions, {hit.seconds:.1f} s, shortest "
            f"trace {turns} turns, {steps} steps",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    console.print(
        f"{sum(bool(row['found']) for row in rows)} of {len(rows)} found in "
        f"{seconds:.1f} s together, installations included",
        markup=False,
    )
    return rows


def _generated(
    names: list[str], only: str, workers: int, remembered: Remembered, cases: Mapping[str, Case]
) -> Iterable[Found]:
    """Hunt for those of the names, in small cases first, for the survivors in the large ones too.
    What is known is written every few, so that it can be stopped and goes on where it stopped.
    """
    wanted = sorted((name for name in names if fnmatchcase(name, only)), key=_late)
    small = {key: case for key, case in cases.items() if key not in LARGE}

    def first(name: str) -> None:
        before = remembered.found.get(name, {})
        if not counts(name, cases, remembered) and not hunt(name, small, remembered).claim:
            left = {key: each for key, each in before.items() if not each.claim}
            remembered.keep(name, {**left, **remembered.found[name], UNFINISHED: Search("", False)})

    def both() -> Iterable[Found]:
        for number, _ in enumerate(pool.map(first, wanted), 1):
            if number % OFTEN == 0:
                remembered.write(names)
        for number, found in enumerate(
            pool.map(lambda name: hunt(name, cases, remembered), wanted), 1
        ):
            if number % OFTEN == 0:
                remembered.write(names)
            yield found

    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from both()
        finally:
            pool.shutdown(cancel_futures=True)
            remembered.write(names)


def _late(name: str) -> bool:
    """Whether little is to be expected: who hunts for an hour would know the others first."""
    return any(part in name for part in (".statement.NOCOUNT", ".hint.ROWLOCK", ".hint.INDEX"))


def _line(found: Found) -> str:
    how = f"{found.claim} ({found.case})" if found.claim else "NOT FOUND"
    return (
        f"{found.name}: {how}; {found.states} states, {found.transitions} transitions, "
        f"{found.steps} steps, {found.seconds:.1f} s"
    )

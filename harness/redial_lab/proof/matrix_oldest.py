"""The oldest of the matrix' results, for a night that searches a few again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redial_lab.proof.matrix import Cell
from redial_lab.proof.matrix_kept import Judged, stale, stale_search


def oldest(
    count: int,
    cells: Iterable[Cell],
    questions: Iterable[str],
    results: Mapping[str, Judged],
    engine: str,
    commits: Sequence[str],
) -> tuple[list[Cell], list[str], int]:
    """Of those that do not speak of today, so many that wait the longest: cells, and questions' searches;
    and how many there are.

    engine: its digest. commits: hashes, newest first. What was never searched comes first, then what was
    searched at a commit that is not known here; of the same age in the order given. What was searched under
    other values of the switches too is not chosen: a search at the defaults would forget them.
    """
    old: list[tuple[int, Cell | str]] = []
    for cell in cells:
        if stale(cell, judged := results.get(str(cell)), engine):
            old.append((_age(judged, commits), cell))
    for name in questions:
        if stale_search(name, judged := results.get(name), engine):
            old.append((_age(judged, commits), name))
    old.sort(key=lambda each: -each[0])
    chosen = [each for _, each in old if not _varied(results.get(str(each)))][:count]
    return (
        [each for each in chosen if isinstance(each, Cell)],
        [each for each in chosen if isinstance(each, str)],
        len(old),
    )


def _varied(judged: Judged | None) -> bool:
    return judged is not None and any(told.tried or told.together for told in judged.told.values())


def _age(judged: Judged | None, commits: Sequence[str]) -> int:
    """How many commits ago."""
    if judged is None:
        return len(commits) + 1
    short = judged.commit.removesuffix("+")
    return next((age for age, each in enumerate(commits) if each.startswith(short)), len(commits))

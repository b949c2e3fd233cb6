"""What ``invoke matrix`` does: search, write traces and the page, or only check it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rich.console import Console

from redial.paths import ROOT
from redial_lab.git import git
from redial_lab.proof import matrix_traces
from redial_lab.proof.kept_searches import engine_digest
from redial_lab.proof.matrix import Cell, every_cell
from redial_lab.proof.matrix_kept import KEPT, ages, kept, same_text
from redial_lab.proof.matrix_oldest import oldest as the_oldest
from redial_lab.proof.matrix_page import PAGE, linked, problems, text
from redial_lab.proof.matrix_run import run
from redial_lab.proof.matrix_verdict import verdict
from redial_lab.proof.questions import SEARCHES


def chosen(only: str) -> tuple[list[Cell], list[str]]:
    """Cells and questions' searches whose names fit; equal texts once."""
    searched = dict.fromkeys(same_text(every_cell()).values())
    return (
        [cell for cell in searched if fnmatchcase(str(cell), only)],
        [name for name in SEARCHES if fnmatchcase(name, only)],
    )


def check() -> int:
    """Say what is wrong with the page, and how old its results are; 1 when something is wrong.
    An older engine alone is nothing wrong."""
    results = kept()
    found = problems(results)
    print("\n".join([*found, f"{PAGE.name}: {ages(results).verdict()}", matrix_traces.ages()]))
    if found:
        print(
            f"{PAGE.name}: wrong, see the {len(found)} lines above. Next: invoke matrix --write --traces"
        )
    return 1 if found else 0


def main(
    only: str = "*",
    *,
    limit: int = -1,
    write: bool = False,
    traces: bool = False,
    workers: int = 2,
    again: bool = False,
    defaults: bool = False,
    oldest: int = -1,
) -> int:
    """Search what is missing, in the page's order; 1 when a trace could not be found.

    limit: at most so many cells and as many searches of questions; below 0: all. oldest: instead so many
    of the results of an older engine or text, the oldest first, at the defaults; what was searched under
    other values of the switches is left to a whole run.
    """
    console = Console()

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    results = kept()
    cells, questions = chosen(only)
    if oldest > 0:
        commits = git(ROOT, "rev-list", "HEAD").split()
        engine, again, defaults = engine_digest(), True, True
        of = len(cells) + len(questions)
        cells, questions, old = the_oldest(oldest, cells, questions, results, engine, commits)
        say(f"{old} of {of} results are old; {len(cells) + len(questions)} are searched")
    if limit >= 0:
        cells, questions = cells[:limit], questions[:limit]
    if cells or questions:
        run(
            cells,
            results,
            say,
            questions=questions,
            workers=workers,
            again=again,
            values=not defaults,
        )
        for cell in cells:
            say(f"{cell}: {verdict(cell, results.get(str(cell)))}")
    failed = matrix_traces.write_all(linked(results), results, say, workers) if traces else 0
    if write:
        PAGE.write_text(text(results), "utf-8")
        say(
            f"{PAGE.name}: {len(results)} of {len(SEARCHES) + len(every_cell())} cells and "
            f"searches in {KEPT.name}"
        )
    return 1 if failed else 0

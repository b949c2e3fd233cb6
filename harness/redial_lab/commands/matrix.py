"""``invoke matrix``: search every combination of our choices, make docs/generated/answer-matrix.md."""

from __future__ import annotations

from pathlib import Path

from redial.cli.errors import UserError, command
from redial_lab.commands import clone


@command
def matrix(
    only: str = "*",
    *,
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
) -> int:
    """Search what is missing and print each cell's verdict; 1 when the page is wrong (check).

    show: a kept trace, taken again instead; out: a folder for its picture and script.
    """
    clone("redial matrix")
    from redial_lab.proof.matrix_command import check as check_page
    from redial_lab.proof.matrix_command import chosen, main

    if check:
        return check_page()
    if show:
        return shown(show, out)
    if not any(chosen(only)):
        raise UserError(
            f"--only {only}",
            "no cell and no search has a name like it",
            'write key recycle strategy hint isolation caller, such as "pool * rc *"',
        )
    if oldest == 0 or oldest < -1:
        raise UserError(f"--oldest {oldest}", "counts results", "pass 1 or more")
    if not 1 <= workers <= 16:
        raise UserError(f"--workers {workers}", "counts processes", "pass 1 to 16")
    return main(
        only,
        limit=limit,
        write=write,
        traces=traces,
        workers=workers,
        again=again,
        defaults=defaults,
        oldest=oldest,
    )


def shown(cause: str, out: str) -> int:
    """Take a kept trace's steps again and print them; out: folder for picture and script too."""
    from redial_lab.explore.replay_words import SeedError
    from redial_lab.proof.matrix_traces import kept

    traces = kept()
    if cause not in traces:
        raise UserError(f"--show {cause}", "no such trace is kept", f"one of {', '.join(traces)}")
    try:
        found = traces[cause].shown()
    except SeedError as error:
        raise UserError(f"--show {cause}", str(error), "invoke matrix --write --traces") from error
    print(f"{traces[cause].title()}\n\n{found.text}", end="")
    for path in found.save(Path(out), cause) if out else ():
        print(f"  {path}")
    return 0

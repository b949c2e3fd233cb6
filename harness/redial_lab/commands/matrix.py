"""``invoke matrix``: search every combination of our choices, make docs/generated/answer-matrix.md."""

from __future__ import annotations

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
) -> int:
    """Search what is missing and print each cell's verdict; 1 when the page is wrong (check)."""
    clone("redial matrix")
    from redial_lab.proof.matrix_command import check as check_page
    from redial_lab.proof.matrix_command import chosen, main

    if check:
        return check_page()
    if not any(chosen(only)):
        raise UserError(
            f"--only {only}",
            "no cell and no search has a name like it",
            'write key recycle strategy hint isolation caller, such as "pool * rc *"',
        )
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
    )

"""``invoke mutants``: look for every known-bad variant of the shipped procedures."""

from __future__ import annotations

from redial.cli.errors import UserError, command
from redial_lab.commands import clone


@command
def mutants(
    only: str = "",
    *,
    generated: bool = False,
    write: bool = False,
    check: bool = False,
    workers: int = 1,
) -> int:
    """Hunt and print what found each; 1 when one of the sixteen is not found or a page is stale."""
    clone("redial mutants")
    from redial_lab.proof.mutants_command import all_names, check_page, main

    if check:
        return check_page()
    if only and not all_names(only):
        raise UserError(
            f"--only {only}",
            "no mutant's name fits it",
            "docs/generated/mutants.md has the names; * stands for anything",
        )
    if not 1 <= workers <= 16:
        raise UserError(f"--workers {workers}", "counts processes", "pass 1 to 16")
    return main(only, generated or bool(only), write, workers)

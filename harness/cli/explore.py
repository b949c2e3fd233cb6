"""``invoke explore``: search the states of a scenario."""

from __future__ import annotations

from harness.cli.errors import UserError, command


@command
def explore(scenario: str = "two_phase", transitions: int = 2_000_000) -> int:
    """Search a scenario by name; 1 when a check is violated."""
    from harness.proof.cli import SCENARIOS, main

    if scenario not in SCENARIOS:
        raise UserError(
            f"--scenario {scenario}", "there is none of that name",
            f"use one of: {', '.join(SCENARIOS)}",
        )  # fmt: skip
    if transitions < 1:
        raise UserError(f"--transitions {transitions}", "bounds the search", "pass 1 or more")
    return main(scenario, transitions)

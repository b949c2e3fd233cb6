"""``invoke coverage``: make docs/coverage.md, or say whether it is stale."""

from __future__ import annotations

import difflib

from harness.cli.errors import command

SHOWN = 40
"""Lines of a difference that are shown."""


@command
def coverage(check: bool = False) -> int:
    """Write docs/coverage.md; with ``check`` only compare: 1 when the committed page is stale."""
    from harness.coverage.page import PAGE, text

    made = text()
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if made == old:
        print("docs/coverage.md: up to date")
        return 0
    if check:
        lines = list(
            difflib.unified_diff(
                old.splitlines(), made.splitlines(), "committed", "now", lineterm="", n=0
            )
        )
        print("\n".join(lines[:SHOWN]))
        print("docs/coverage.md: stale; run invoke coverage")
        return 1
    PAGE.write_text(made, "utf-8")
    print(f"docs/coverage.md: written, {made.count(chr(10))} lines")
    return 0

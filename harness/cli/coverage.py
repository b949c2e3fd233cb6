"""``invoke coverage``: make docs/coverage.md alone, or say whether it is stale."""

from __future__ import annotations

from harness.cli.errors import command
from harness.cli.pages import settle


@command
def coverage(check: bool = False) -> int:
    """Write docs/coverage.md; with ``check`` only compare: 1 when the committed page is stale."""
    from harness.coverage import page

    right = settle("docs/coverage.md", page.PAGE, page.text(), check)
    if check and not right:
        print("  Next: invoke coverage, and commit what it changes")
    return 1 if check and not right else 0

"""``invoke coverage``: make docs/generated/coverage.md alone, or say whether it is stale."""

from __future__ import annotations

from redial.cli.errors import command
from redial_lab.commands import clone
from redial_lab.commands.pages import settle


@command
def coverage(check: bool = False) -> int:
    """Write docs/generated/coverage.md; with ``check`` only compare: 1 when the committed page is stale."""
    clone("redial coverage")
    from redial_lab.pages.coverage import page

    right = settle("docs/generated/coverage.md", page.PAGE, page.text(), check)
    if check and not right:
        print("  Next: invoke coverage, and commit what it changes")
    return 1 if check and not right else 0

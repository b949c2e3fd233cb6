"""The commands of the laboratory."""

from __future__ import annotations

from pathlib import Path

from redial.cli.errors import UserError
from redial.paths import CLONE


def clone(what: str) -> Path:
    """The clone a contributor's command works in. Raises UserError where there is none.

    what: the command, as it is typed.
    """
    if CLONE is None:
        raise UserError(
            what,
            "works in a clone of the repository only: it reads tests and pages that are not installed",
            "git clone the repository, and call ./redial there",
        )
    return CLONE

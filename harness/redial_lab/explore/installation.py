"""What a person runs before a script for query windows: the batches a scenario was prepared by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from redial_broker.engine.switches import given
from redial_broker.instance.overheard import overheard
from redial_lab.explore.scenario import Scenario

HEAD = """-- What a scenario of the explorer is installed by, as it was run on the embedded
-- broker, which is not SQL Server. FOR A TEST SERVER: it makes the database itself.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """A script."""

    text: str
    """'' when the scenario was prepared by no batch anybody has seen."""

    @property
    def sha(self) -> str:
        """SHA-256 of the text in UTF-8, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The file it is kept in: the same text is the same file. '' for none."""
        return f"installation-{self.sha[:12]}.sql" if self.text else ""


def installation(scenario: Scenario) -> Installation:
    """Prepare a scenario and take down what is run for it."""
    with given(scenario.switches), overheard() as batches:
        scenario.prepare()
    return Installation(written(batches))


def written(batches: Iterable[tuple[str, str]]) -> str:
    """Batches and their databases as a script."""
    parts, inside = [], ""
    for database, text in batches:
        if database != inside:
            parts.append(f"USE [{database.replace(']', ']]')}];\nGO\n")
            inside = database
        parts.append(f"{text.rstrip()}\nGO\n")
    return HEAD + "".join(parts) if parts else ""

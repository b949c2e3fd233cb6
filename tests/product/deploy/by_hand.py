"""Changes by hand: how each is mended, and a deployment in this process that does it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redial.cli.installing import Allowed, install
from redial.config import Config
from redial.deploy import Connect, Survey, survey, verify
from redial.deploy.apply import looking
from tests.installed import batches, rendered
from tests.product.sql.lab import Lab

from .inside import Connection

FILES = "files"
"""The files of the next deployment mend it."""
UNASKED = "unasked"
"""A statement does, which the next deployment runs."""
ALLOWED = "allowed"
"""A deployment leaves it; one with --undo runs a statement."""
REFUSED = "refused"
"""A deployment is refused, for it would replace somebody's text; one with --overwrite is not."""
TAKEN = "taken"
"""The same of something else in the place of ours, and --undo."""
PERSON = "person"
"""No deployment touches it; the statement that verify prints mends it, with a deployment behind it."""
NOBODY = "nobody"
"""No deployment touches it, and no statement can be written."""
HOTFIX = "{hotfix}"
"""Stands for the text of usp_Send with a comment more."""


TREE = re.compile(r"\b(AND|OR|FUNCTIONCALL|ISNULL|BINARY)[(\[]")
"""How an expression is compared (``expressions.shape``)."""


@dataclass(frozen=True)
class Change:
    """What somebody does by hand."""

    way: str
    """How it is mended: one of the seven above."""
    sql: str
    """The statement; {logerror} stands for the text of usp_LogError, as a literal holds it."""
    finding: str
    """How verify names it."""


@dataclass
class Site:
    """An installation in this process."""

    lab: Lab

    def connect(self) -> Connection:
        return Connection(self.lab.instance, "lab")

    @property
    def files(self) -> dict[str, str]:
        return rendered(self.lab.config)

    def run(self, sql: str) -> None:
        """As a person would, who then leaves: a session in the way would be waited for."""
        connection = self.connect()
        connection.cursor().execute(sql)
        connection.close()

    def findings(self) -> list[str]:
        """What verify says."""
        return verify(self.lab.config, self.connect, self.files)

    def survey(self, overwrite: bool = False, undo: bool = False) -> Survey:
        return surveyed(self.lab.config, self.connect, overwrite, undo)

    def deploy(self, overwrite: bool = False, undo: bool = False) -> bool:
        """As redial deploy does it, planned first; False where it is refused."""
        return deployed(self.lab.config, self.connect, overwrite, undo) is not None


def surveyed(
    config: Config, connect: Connect, overwrite: bool = False, undo: bool = False
) -> Survey:
    """What a deployment of a configuration's files would do."""
    with looking(connect, config) as connection:
        return survey(config, connection, rendered(config), overwrite=overwrite, undo=undo)


def deployed(
    config: Config, connect: Connect, overwrite: bool = False, undo: bool = False
) -> int | None:
    """As redial deploy does it, planned first: its exit status; None where it is refused."""
    seen = surveyed(config, connect, overwrite, undo)
    if seen.plan.blocked or not seen.plan.status:
        return None if seen.plan.blocked else 0
    allowed = Allowed(overwrite=overwrite, undo=undo)
    return install(config, connect, rendered(config), seen, "deploy", allowed)


def changed(lab: Lab, change: Change) -> tuple[Site, str]:
    """After a change: the installation, and the line that names it."""
    lab.instance.disconnect(lab.sa.session)
    site = Site(lab)
    site.run(spelled(site.files, change.sql))
    lines = [line for line in site.findings() if change.finding in line]
    assert len(lines) == 1, site.findings()
    assert not TREE.search(lines[0]), "an expression is told as it is written"
    return site, lines[0]


def spelled(files: dict[str, str], sql: str) -> str:
    """A change that needs the text of a procedure of ours."""
    if sql == HOTFIX:
        own = _text(files, "usp_Send")
        return own.replace("    SET NOCOUNT ON;", "    /* hotfix */\n    SET NOCOUNT ON;", 1)
    return sql.replace("{logerror}", _text(files, "usp_LogError").replace("'", "''"))


def _text(files: dict[str, str], procedure: str) -> str:
    file = next(name for name in files if name.endswith(f"_{procedure}.procedure.sql"))
    return next(one for one in batches(files[file]) if "CREATE OR ALTER" in one)

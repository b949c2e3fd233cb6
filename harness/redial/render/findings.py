"""The register of findings: what usp_Health and ``redial doctor`` look for, a file each.

A file of ``monitor/findings`` is one finding: its head, a TOML text in the template's first comment, says
what it is called, how bad it is and who mends it; below it stand its advice and one SELECT of four
columns (object, figure, more, statement), a row for each thing found. A file of ``monitor/looks`` fills
a temporary table once, for the findings that need it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment

from redial.paths import TEMPLATES
from redial.render.conditions import condition

FINDINGS, LOOKS = "findings", "looks"
SUFFIX = ".sql.j2"
HEAD = re.compile(r"\A\{#\n(.*?)\n#\}\n", re.DOTALL)
CALLER = ("server", "jobs")
"""What a finding may need beside looks: a right that only the caller can have on the server."""
NOT_LOOKED_AT = "not-looked-at"
"""The id of what could not be looked at."""


class Priority(IntEnum):
    """How bad a finding is. A number, so that a job can ask for all below one."""

    NOTHING_FLOWS = 1
    TODAY = 10
    LOOK = 50
    TIDY_UP = 100
    TO_KNOW = 150
    FIGURE = 200


WHO = {
    "operator": "a member of {role}",
    "db_owner": "a member of db_owner",
    "server": "an administrator of the server",
    "deployer": "whoever deploys",
    "nobody": "",
}
"""Who mends it, by the word in a file's head."""


class FindingError(ValueError):
    """A file of the register is not as it must be; the text names it and says why."""


@dataclass(frozen=True)
class Head:
    """What a finding's file says of it, whatever the configuration."""

    id: str
    """The file's name."""
    title: str
    priority: Priority
    role: str
    """A word of WHO."""
    needs: tuple[str, ...]
    """Looks, and words of CALLER."""
    page: str
    """Of docs/runbook; empty: the advice is enough."""
    when: str
    """For which configurations: an expression; empty: all."""


@dataclass(frozen=True)
class Finding:
    """A finding of one configuration, rendered."""

    id: str
    title: str
    priority: Priority
    advice: str
    who: str
    """Who mends it; empty: there is nothing to mend."""
    needs: tuple[str, ...]
    page: str
    query: str


@dataclass(frozen=True)
class Look:
    """What is gathered once, in a temporary table."""

    id: str
    says: str
    table: str
    """Its columns."""
    fill: str
    """A batch."""
    needs: str = ""
    """Has a word of CALLER where it is asked as the caller; what it lacks it says by itself."""


def heads(templates: Path = TEMPLATES) -> list[Head]:
    """Every finding there is, the worst first. Raises FindingError."""
    found = [_head(path) for path in _files(templates, FINDINGS)]
    return sorted(found, key=lambda one: (one.priority, one.id))


@cache
def _files(templates: Path, folder: str) -> tuple[Path, ...]:
    return tuple(sorted(templates.glob(f"*/{folder}/*{SUFFIX}")))


def _said(path: Path) -> dict[str, Any]:
    """A file's head. Raises FindingError."""
    head = HEAD.match(path.read_text(encoding="utf-8"))
    if head is None:
        raise FindingError(
            f"{path.name}: its first lines must be its head, {{# and #}} around TOML"
        )
    try:
        return tomllib.loads(head[1])
    except tomllib.TOMLDecodeError as error:
        raise FindingError(f"{path.name}: its head is no TOML: {error}") from error


def _head(path: Path) -> Head:
    said = _said(path)
    needs = [word.strip() for word in said.pop("needs", "").split(",") if word.strip()]
    try:
        head = Head(
            id=path.name.removesuffix(SUFFIX),
            title=said.pop("title"),
            priority=Priority(said.pop("priority")),
            role=said.pop("role"),
            needs=tuple(needs),
            page=said.pop("page", ""),
            when=said.pop("when", ""),
        )
    except KeyError as error:
        raise FindingError(f"{path.name}: its head has no {error}") from error
    except ValueError as error:
        allowed = ", ".join(str(int(one)) for one in Priority)
        raise FindingError(f"{path.name}: {error}; allowed: {allowed}") from error
    if said:
        raise FindingError(f"{path.name}: its head has what nobody reads: {', '.join(said)}")
    if head.role not in WHO:
        raise FindingError(f"{path.name}: role {head.role!r}; allowed: {', '.join(WHO)}")
    return head


class Register:
    """``register`` in templates: the findings and looks of one configuration's database.

    environment: its globals are what the files may use. They are read when first asked for.
    """

    def __init__(self, environment: Environment, templates: Path) -> None:
        self._environment = environment
        self._templates = templates

    @cached_property
    def findings(self) -> list[Finding]:
        """Those of this configuration, the worst first. Raises FindingError, TemplateError."""
        jobs: Any = self._environment.get_template("92_jobs/jobs.inc.j2").module
        config: Any = self._environment.globals["c"]
        known = self._environment.globals | {
            "agent_jobs": config.operations.agent_job and jobs.jobs
        }
        return [
            self._finding(head, config.roles.operator)
            for head in heads(self._templates)
            if not head.when or condition(head.when)(known)
        ]

    def _finding(self, head: Head, operators: str) -> Finding:
        text: Any = self._environment.get_template(f"{FINDINGS}/{head.id}{SUFFIX}").module
        if not hasattr(text, "advice"):
            raise FindingError(f"{head.id}{SUFFIX}: it sets no advice")
        who = WHO[head.role].format(role=operators)
        advice, query = str(text.advice).strip(), str(text).strip()
        return Finding(
            head.id, head.title, head.priority, advice, who, head.needs, head.page, query
        )

    @cached_property
    def looks(self) -> list[Look]:
        """Those that a finding of this configuration needs. Raises FindingError, TemplateError."""
        needed = {need for finding in self.findings for need in finding.needs} - set(CALLER)
        return [self.look(name) for name in sorted(needed)]

    def look(self, name: str) -> Look:
        """One of them. Raises FindingError, TemplateError."""
        files = {p.name.removesuffix(SUFFIX): p for p in _files(self._templates, LOOKS)}
        if name not in files:
            raise FindingError(f"no file of {LOOKS} is called {name}")
        said = _said(files[name])
        fill = str(self._environment.get_template(f"{LOOKS}/{name}{SUFFIX}").module).strip()
        table = said["table"].strip("\n")
        return Look(name, said["says"], table, fill, said.get("needs", ""))

"""What is kept of a violation: numbered steps, a picture, a script for query windows, its word.

The script is played on the embedded broker before it is handed out, and says what came of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from redial_lab.explore.installation import Installation, installation
from redial_lab.explore.play import PlayError, play
from redial_lab.explore.search import ALSO, Violation
from redial_lab.explore.shorten import readable
from redial_lab.explore.trace import Trace, record
from redial_lab.explore.trace_picture import page
from redial_lab.explore.windows import Script, script
from redial_lab.explore.world import Scenario


@dataclass(frozen=True, slots=True)
class Evidence:
    """A violation in all its forms."""

    trace: Trace
    script: Script
    met: bool
    """Whether the windows met it too."""
    verdict: str
    """In words."""
    html: str
    installed: Installation
    """What is run before the windows."""

    @property
    def text(self) -> str:
        """Numbered steps, with the word that replays them."""
        return "\n".join(
            [*self.trace.lines(), f"  windows: {self.verdict}", f"  replay: {self.trace.seed}", ""]
        )

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write NAME.VIOLATION.txt, .html and .sql; returns their paths. Beside them, once for all
        that share it, goes what is to be installed first (``Installation.name``).
        """
        folder.mkdir(parents=True, exist_ok=True)
        if self.installed.name and not self.script.plan.refused:
            (folder / self.installed.name).write_text(self.installed.text, encoding="utf-8")
        stem = f"{slug(name)}.{slug(self.trace.violation)}"
        files = {"txt": self.text, "html": self.html, "sql": self.script.text}
        for suffix, text in files.items():
            (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
        return [folder / f"{stem}.{suffix}" for suffix in files]


def slug(text: str) -> str:
    """A text as part of a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-").lower()[:80] or "nothing"


def evidence(
    scenario: Scenario, violation: Violation, command: str = "", *, exact: bool = False
) -> Evidence:
    """Everything about a violation, by as few steps and switches as were found.

    command: what replays it, without the word. exact: the path is shown as it is (a replay).
    """
    trace = record(scenario, violation if exact else readable(scenario, violation))
    installed = installation(scenario)
    made = script(trace, installed)
    met, verdict = _played(made, trace)
    title, _, rest = made.text.partition("\n")
    made.text = f"{title}\n-- {verdict[0].upper()}{verdict[1:]}.\n{rest}"
    html = page(trace, made, f"{command} --replay {trace.seed}" if command else "")
    return Evidence(trace, made, met, verdict, html, installed)


def _played(made: Script, trace: Trace) -> tuple[bool, str]:
    if made.plan.refused:
        return False, f"no script for query windows: {made.plan.refused}"
    how = f"played on the embedded broker by {len(made.windows)} sessions"
    try:
        played = play(made.text, trace.scenario)
    except PlayError as error:
        return False, f"could not be played on the embedded broker: {error}"
    names = trace.violation.split(ALSO) if trace.violation else []
    if trace.violation in played.met or (names and set(names) <= set(played.met)):
        return True, f"{how}: meets {trace.violation!r}"
    found = ", ".join(played.met) or "nothing"
    return False, f"{how}: meets {found}, so a server may not show {trace.violation!r} by it either"

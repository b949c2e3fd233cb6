"""Why the two parsers differ where they do: tests/product/tsql/agreement.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.agreement.compare import BUG_ACCEPT, BUG_REJECT, Finding

REASONS = Path(__file__).resolve().parents[2] / "tests" / "product" / "tsql" / "agreement.toml"


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that explains findings of one group.

    kind: the oracle's class of the statement, place: file:line:column, error: whichever of the two
    parsers rejects: regular expressions, each found anywhere.
    """

    group: str
    reason: str
    kind: re.Pattern[str]
    place: re.Pattern[str]
    error: re.Pattern[str]

    def explains(self, finding: Finding) -> bool:
        """Whether the rule is about that finding."""
        error = finding.ours or finding.oracle
        return (
            finding.group == self.group
            and self.kind.search(finding.kind) is not None
            and self.place.search(finding.place) is not None
            and self.error.search(error) is not None
        )


def read(path: Path = REASONS) -> list[Reason]:
    """The rules in their order; the first that explains a finding counts it."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Reason(
            group,
            entry["reason"],
            *(re.compile(entry.get(key, "")) for key in ("kind", "place", "error")),
        )
        for group, entries in ((BUG_REJECT, data["stricter"]), (BUG_ACCEPT, data["laxer"]))
        for entry in entries
    ]


def explain(
    findings: list[Finding], reasons: list[Reason]
) -> tuple[dict[Reason, int], list[Finding]]:
    """How many findings each rule explains, and those that none does."""
    counts: dict[Reason, int] = {}
    unexplained = []
    for finding in findings:
        if finding.group not in (BUG_REJECT, BUG_ACCEPT):
            continue
        reason = next((r for r in reasons if r.explains(finding)), None)
        if reason is None:
            unexplained.append(finding)
        else:
            counts[reason] = counts.get(reason, 0) + 1
    return counts, unexplained

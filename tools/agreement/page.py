"""docs/generated/parser-agreement.md, generated."""

from __future__ import annotations

from collections import Counter

from tools.agreement.compare import BUG_REJECT, CLASSES, NAMED, Finding
from tools.agreement.reasons import Reason
from tools.agreement.sources import SCRIPTDOM_COMMIT, SCRIPTDOM_URL


def render(
    found: dict[str, list[Finding]],
    rules: list[Reason],
    explained: dict[Reason, int],
    left: list[Finding],
) -> str:
    """The page as Markdown."""
    counts = {name: Counter(f.group for f in findings) for name, findings in found.items()}
    named = Counter(f.ours.split(" ", 1)[1] for p in found.values() for f in p if f.group == NAMED)
    lines = [
        "# Agreement of the embedded broker's parser with Microsoft's",
        "",
        "Written by `tools/oracle_agreement.py --page`; do not edit. The oracle is ScriptDom 15.0"
        " (T-SQL of 2019), see `tools/tsql_oracle.py`; statements it lists one by one, batches it"
        " rejects count once. ScriptDOM's own test scripts are fetched, not committed:"
        f" {SCRIPTDOM_URL}, commit {SCRIPTDOM_COMMIT[:10]}, MIT licence.",
        "",
        f"| verdicts | {' | '.join(found)} |",
        f"| --- |{' ---: |' * len(found)}",
        *(f"| {g} | {' | '.join(str(c[g]) for c in counts.values())} |" for g in CLASSES),
        "",
        f"Differences without a listed reason: {len(left)}.",
        "",
    ]
    for title, strict in (
        ("## Stricter than the oracle, with the reason", True),
        ("## Laxer than the oracle, with the reason", False),
    ):
        lines += [title, "", "| findings | reason |", "| ---: | --- |"]
        lines += [
            f"| {explained.get(rule, 0)} | {rule.reason} |"
            for rule in rules
            if (rule.group == BUG_REJECT) is strict
        ]
        lines.append("")
    lines += ["## Refused by name", "", "| findings | construct |", "| ---: | --- |"]
    lines += [f"| {n} | {c} |" for c, n in sorted(named.items(), key=lambda p: (-p[1], p[0]))]
    return "\n".join(lines) + "\n"

#!/usr/bin/env python3
"""Compare our parser with Microsoft's own, statement by statement.

    oracle_agreement.py                   our scripts, the zoo, ScriptDOM's tests: a table
    oracle_agreement.py --directory DIR   all .sql files below DIR instead
    oracle_agreement.py --list TEXT       the findings whose class holds TEXT (reject, accept ..)
    oracle_agreement.py --page            write docs/generated/parser-agreement.md as well

A difference is explained by a rule of tests/product/tsql/agreement.toml or is a defect: exit status 1.
The test scripts are fetched from GitHub into $REDIAL_SCRIPTDOM (~/.cache/redial/scriptdom).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from subprocess import CalledProcessError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.agreement import reasons, sources  # noqa: E402 - a tool runs from a bare clone
from tools.agreement.compare import CLASSES, Finding, compare  # noqa: E402
from tools.agreement.page import render  # noqa: E402

PAGE = ROOT / "docs" / "generated" / "parser-agreement.md"


def cache() -> Path:
    """Where ScriptDOM's test scripts are."""
    return Path(os.environ.get("REDIAL_SCRIPTDOM") or Path.home() / ".cache/redial/scriptdom")


def collect(folder: Path | None) -> dict[str, list[Finding]]:
    """Findings by source. Raises OracleMissing."""
    if folder is not None:
        return {str(folder): compare(sources.directory(folder, "--sqlcmd"))}
    found = {"our scripts": compare(sources.own()), "zoo": compare(sources.zoo())}
    try:
        found["ScriptDOM tests"] = compare(sources.scriptdom(cache()))
    except (CalledProcessError, OSError) as error:
        print(f"ScriptDOM's tests cannot be had: {error}", file=sys.stderr)
    return found


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--list", default="")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    try:
        found = collect(options.directory)
    except sources.OracleMissing as error:
        print(f"the oracle cannot run: {error}", file=sys.stderr)
        return 2
    for name, findings in found.items():
        counts = Counter(finding.group for finding in findings)
        print(name, *(f"  {counts[group]:6} {group}" for group in CLASSES), sep="\n")
        if options.list:
            _tell([f for f in findings if options.list in f.group])
    rules = reasons.read()
    explained, left = reasons.explain([f for part in found.values() for f in part], rules)
    print(f"{sum(explained.values())} differences have a listed reason, {len(left)} have none")
    _tell(left)
    if options.page:
        PAGE.write_text(render(found, rules, explained, left), encoding="utf-8")
    return 1 if left else 0


def _tell(findings: list[Finding]) -> None:
    for finding in findings:
        error = finding.ours or finding.oracle
        print(f"    {finding.place} [{finding.kind}] {error[:90]}")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Run published Service Broker scripts, unmodified, on the embedded broker and say how they went.

    run_public_scripts.py              all sets of tools/public/sources.toml; a table and a ranking
    run_public_scripts.py --only TEXT  sets whose title holds TEXT
    run_public_scripts.py --verbose    every error, note and output
    run_public_scripts.py --page       write docs/generated/public-scripts.md as well

The scripts are fetched from GitHub into $REDIAL_PUBLIC_SCRIPTS (~/.cache/redial/public-scripts)
when they are not there. Exit status 1 when a set crashed, hung or met a refusal.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from subprocess import CalledProcessError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.public import corpus  # noqa: E402 - a tool runs from a bare clone
from tools.public.page import render  # noqa: E402
from tools.public.runner import Outcome, run_set  # noqa: E402

PAGE = ROOT / "docs" / "generated" / "public-scripts.md"
Results = list[tuple[corpus.ScriptSet, Outcome]]


def run(sets: list[corpus.ScriptSet], cache: Path, verbose: bool) -> Results:
    """Run the sets one after another, printing a line for each."""
    results = []
    for script_set in sets:
        try:
            files = corpus.texts(script_set, cache)
        except FileNotFoundError as error:
            print(f"absent     {error}")
            continue
        outcome = run_set(
            files, script_set.before, script_set.switches, script_set.expect, script_set.today
        )
        results.append((script_set, outcome))
        print(f"{verdict(script_set, outcome):10} {script_set.title}", flush=True)
        if verbose:
            _tell(outcome)
    return results


def verdict(script_set: corpus.ScriptSet, outcome: Outcome) -> str:
    """clean, faults (errors a server gives too, with reasons), errors, refused, UNLIKE or CRASH."""
    if outcome.crash:
        return "CRASH"
    if outcome.unlike:
        return "UNLIKE"
    if outcome.refused:
        return "refused"
    if all(fault.number in script_set.faults for fault in outcome.errors):
        return "faults" if outcome.errors else "clean"
    return "errors"


def _tell(outcome: Outcome) -> None:
    for fault in outcome.faults:
        print(f"    {fault.number} {fault.where}: {fault.text}")
    for line in outcome.unlike:
        print(f"    UNLIKE {line}")
    for line in outcome.notes:
        print(f"    note {line}")
    for line in outcome.output:
        print(f"    out  {line[:300]}")
    if outcome.crash:
        print(outcome.crash)


def ranking(results: Results) -> list[tuple[str, list[str]]]:
    """Refused constructs with the sets that use them, most used first."""
    users: dict[str, list[str]] = defaultdict(list)
    for script_set, outcome in results:
        for construct in sorted({fault.construct for fault in outcome.refused}):
            users[construct].append(script_set.title)
    return sorted(users.items(), key=lambda pair: (-len(pair[1]), pair[0]))


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    repositories, sets = corpus.read_sources()
    cache = corpus.cache_directory()
    for repository in repositories:
        try:
            corpus.fetch(repository, cache)
        except (CalledProcessError, OSError) as error:
            print(f"not fetched: {repository.repo}: {error}", file=sys.stderr)
    chosen = [s for s in sets if options.only.lower() in s.title.lower()]
    results = run(chosen, cache, options.verbose)
    for construct, users in ranking(results):
        print(f"{len(users):4} {construct}  [{users[0]}{', ...' if users[1:] else ''}]")
    verdicts = [verdict(*pair) for pair in results]
    print(", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts))))
    if options.page:
        PAGE.write_text(render(repositories, results, verdict, ranking(results)), encoding="utf-8")
    return 1 if {"CRASH", "UNLIKE", "refused", "errors"} & set(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())

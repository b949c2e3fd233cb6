"""docs/generated/public-scripts.md, generated from a run of all sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tools.public.corpus import Repository, ScriptSet
from tools.public.runner import Outcome

MEANING = {
    "clean": "ran to its end without an error",
    "faults": "ran; every error is one a server gives too, for the reason listed",
    "errors": "met errors that nobody has judged yet",
    "refused": "met a construct that the broker refuses by name",
    "UNLIKE": "ran, and ended otherwise than its article says: a defect",
    "CRASH": "crashed or hung: a defect",
}


def render(
    repositories: list[Repository],
    results: list[tuple[ScriptSet, Outcome]],
    verdict: Callable[[ScriptSet, Outcome], str],
    ranking: list[tuple[str, list[str]]],
) -> str:
    """The page as Markdown."""
    counts = Counter(verdict(*pair) for pair in results)
    lines = [
        "# Public Service Broker scripts on the embedded broker",
        "",
        "Written by `tools/run_public_scripts.py --page`; do not edit. The scripts are other"
        " people's: they are fetched when the tool runs and are not in this repository.",
        "Each set runs unmodified in one session of a fresh instance, batch by batch, on a virtual"
        " clock; a batch that waits for ever gets an attention. Several sets are parts of systems"
        " over two or three instances: they run on one.",
        "",
        "| verdict | sets | meaning |",
        "| --- | ---: | --- |",
        *(f"| {name} | {counts[name]} | {text} |" for name, text in MEANING.items()),
        f"| all | {len(results)} | |",
        "",
        "## Refused constructs",
        "",
        "| sets | construct |",
        "| ---: | --- |",
        *(f"| {len(users)} | {_cell(construct)} |" for construct, users in ranking),
        "",
        "## Sets",
        "",
        "Outcomes: facts at the end that the article tells of and the tool looks up.",
        "",
        "| set | batches | outcomes | verdict | refused, or errors with the reason |",
        "| --- | ---: | ---: | --- | --- |",
    ]
    for script_set, outcome in results:
        remarks = sorted({f.construct for f in outcome.refused})
        for number in sorted({f.number for f in outcome.errors}):
            remarks.append(f"{number}: {script_set.faults.get(number, 'not judged')}")
        lines.append(
            f"| {_cell(script_set.title)} | {outcome.batches} | {outcome.checked or ''} |"
            f" {verdict(script_set, outcome)} | {_cell('; '.join(remarks))} |"
        )
    lines += ["", "## Sources", "", "| repository | commit | licence |", "| --- | --- | --- |"]
    lines += [f"| {r.repo} | {r.commit[:10]} | {r.licence} |" for r in repositories]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

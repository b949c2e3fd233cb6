"""Both parsers on the same batches, and what to call each pair of verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from redial.tsql import TsqlNotSupported, TsqlSyntaxError, parse_batch

ACCEPT = "both accept"
REJECT = "both reject, same place"
ELSEWHERE = "both reject, another place"
NAMED = "we refuse by name"
BUG_REJECT = "we reject, the oracle accepts"
BUG_ACCEPT = "we accept, the oracle rejects"
CLASSES = (ACCEPT, REJECT, ELSEWHERE, NAMED, BUG_REJECT, BUG_ACCEPT)

_NEAR = re.compile(r"near (?:the keyword )?'(.*?)'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement (or one rejected batch) and the two verdicts on it.

    kind: the oracle's class of the statement, "" for a batch it rejects. ours, oracle: number and
    text of the error, "" for none. place: file:line:column of our error, or of the statement.
    """

    group: str
    kind: str
    place: str
    ours: str
    oracle: str
    text: str


def compare(reports: list[dict[str, Any]]) -> list[Finding]:
    """Judge every batch of the oracle's report (``tsql_oracle.py --report``)."""
    findings: list[Finding] = []
    for report in reports:
        findings += _batch(report)
    return findings


def verdict(text: str, line: int = 1) -> TsqlSyntaxError | None:
    """Our parser's error on a batch, None when it takes it."""
    try:
        parse_batch(text, line)
    except TsqlSyntaxError as error:
        return error
    return None


def _batch(report: dict[str, Any]) -> list[Finding]:
    file, line, text = report["file"], report["line"], report["text"]
    ours = verdict(text, line)
    if report["errors"]:
        return [_rejected(file, line, text, ours, report["errors"][0])]
    statements = [s for s in report["statements"] if s[0] == 0]
    if ours is None:
        return [
            Finding(ACCEPT, s[5], f"{file}:{s[1]}:{s[2]}", "", "", _cut(text, s))
            for s in statements
        ]
    if len(statements) == 1:
        return [_refused(file, statements[0][5], ours, _cut(text, statements[0]))]
    return _one_by_one(file, text, statements, ours)


def _one_by_one(
    file: str, text: str, statements: list[list], ours: TsqlSyntaxError
) -> list[Finding]:
    """Each statement of a batch we refuse; the batch's own error when none has one."""
    findings = []
    for statement in statements:
        part = _cut(text, statement)
        error = verdict(part, statement[1])
        place = f"{file}:{statement[1]}:{statement[2]}"
        if error is None or error.number in (132, 133, 135, 136, 178):
            findings.append(Finding(ACCEPT, statement[5], place, "", "", part))
        else:
            findings.append(_refused(file, statement[5], error, part))
    if all(finding.group == ACCEPT for finding in findings):
        findings.append(_refused(file, "between statements", ours, text))
    return findings


def _refused(file: str, kind: str, error: TsqlSyntaxError, text: str) -> Finding:
    group = NAMED if isinstance(error, TsqlNotSupported) else BUG_REJECT
    place = f"{file}:{error.line}:{error.column}"
    return Finding(group, kind, place, _told(error), "", text)


def _rejected(
    file: str, line: int, text: str, ours: TsqlSyntaxError | None, first: list
) -> Finding:
    oracle = f"{first[2]} {first[3]}"
    if ours is None:
        return Finding(BUG_ACCEPT, "", f"{file}:{first[0]}:{first[1]}", "", oracle, text)
    same = (ours.line, ours.column) == (first[0], first[1])
    group = REJECT if same else ELSEWHERE
    return Finding(group, "", f"{file}:{ours.line}:{ours.column}", _told(ours), oracle, text)


def _told(error: TsqlSyntaxError) -> str:
    if isinstance(error, TsqlNotSupported):
        return f"{error.number} {error.construct}"
    return f"{error.number} {' '.join(error.message.split())}"


def near(message: str) -> str:
    """The token a message names, "" when it names none."""
    match = _NEAR.search(message)
    return match.group(1) if match else ""


def _cut(text: str, statement: list) -> str:
    # .NET counts UTF-16 units; text outside the first plane moves everything behind it.
    if len(text) == len(text.encode("utf-16-le")) // 2:
        return text[statement[3] : statement[3] + statement[4]]
    units = text.encode("utf-16-le")[2 * statement[3] : 2 * (statement[3] + statement[4])]
    return units.decode("utf-16-le", "replace")

"""A doctor's report for a terminal, a program, a code scanner, a CI, or a browser."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable
from html import escape
from xml.etree import ElementTree

from redial.forms import html_page, plain, sarif_log, sarif_result, xml
from redial.operate.doctor import VERDICTS, Look, Place, Report, Row, severity
from redial.quoting import in_one_line, visible
from redial.render.findings import NOT_LOOKED_AT, Priority

WIDTH = 110
"""Columns of prose in a terminal; a statement is never broken."""
TOOL = "redial doctor"
CANNOT = "can be looked at"
"""Name of the test that fails where nothing could be looked at."""


def page_of(name: str) -> str:
    """Where a page of the runbook is."""
    return f"docs/runbook/{name}.md" if name else ""


def verdict(report: Report) -> str:
    """What it comes to, in one line."""
    counts = Counter(
        severity(row.priority)
        for _, row in report.found
        if row.priority <= Priority.TIDY_UP  # the worst first, and so is the Counter
    )
    counted = ", ".join(f"{count} {words}" for words, count in counts.items())
    return VERDICTS[report.status] + (f": {counted}" if counted else "")


def text(report: Report) -> str:
    """A block for each finding, the worst first, figures as lines, and last what was looked at."""
    several = len(report.looks) > 1
    where = f"{len(report.looks)} databases" if several else visible(str(report.looks[0].place))
    lines = [f"doctor: configuration {report.config}, {where}", f"  {verdict(report)}"]
    before: tuple[Place, str, str] | None = None
    for place, row in report.found:
        if row.priority > Priority.TO_KNOW:
            break
        same = (place, row.id, row.advice)
        lines += ["", *_block(row, place if several else None, same != before)]
        before = same
    figures = [(place, row) for place, row in report.found if row.priority > Priority.TO_KNOW]
    if figures:
        lines.append("")
    for place, row in figures:
        at = f"  [{visible(str(place))}]" if several else ""
        what = visible(f"{row.title}: {row.object}  {row.figure}".rstrip(" :"))
        lines.append(f"{severity(row.priority):<8} {what}{at}")
    for look in report.looks:
        lines += ["", *_looked(look, several)]
    return "\n".join([*lines, ""])


def _block(row: Row, place: Place | None, advised: bool) -> list[str]:
    """A finding. advised: whether what to do is said, which is not said twice."""
    what = f"{row.title}: {row.object}" if row.object else row.title
    lines = [f"{severity(row.priority).upper():<14} {visible(what)}"]
    if row.figure:
        lines += wrapped("figure", row.figure)
    if place:
        lines += wrapped("at", str(place))
    if advised:
        lines += wrapped("do", row.advice)
    if row.who:
        lines += wrapped("who", row.who)
    if row.statement:
        lines.append(f"    run      {in_one_line(row.statement)}")
    if row.page:
        lines += wrapped("page", page_of(row.page))
    return lines


def wrapped(name: str, said: str) -> list[str]:
    """Prose behind its name."""
    first, *more = textwrap.wrap(visible(said), WIDTH, break_long_words=False) or [""]
    return [f"    {name:<8} {first}", *(f"{'':<13}{line}" for line in more)]


def _looked(look: Look, several: bool) -> list[str]:
    """What could not be looked at and why; the last line: what was looked at, and how long it took."""
    at = f"{visible(str(look.place))}: " if several else ""
    if look.trouble:
        what, why = visible(look.trouble.what), visible(look.trouble.why)
        return [
            f"{'NOT LOOKED AT':<14} {what}: {why}",
            *wrapped("next", look.trouble.next),
            f"{at}looked for nothing",
        ]
    lines = []
    for row in look.unseen:
        lines += [
            f"{'NOT LOOKED AT':<14} {at}{visible(row.object)}  {visible(row.figure)}".rstrip()
        ]
        lines += wrapped("why", row.advice)
    line = f"{at}looked for {len(look.looked_for)} findings in {look.milliseconds} ms"
    if look.unseen:
        line += f"; not looked at: {visible(', '.join(row.object for row in look.unseen))}"
    return [*lines, line]


def as_json(report: Report) -> str:
    """For a program; docs/howto/doctor.md says what each key means."""
    said = {
        "config": report.config,
        "status": int(report.status),
        "verdict": verdict(report),
        "places": [
            {
                "server": look.place.server,
                "database": look.place.database,
                "status": int(look.status),
                "milliseconds": look.milliseconds,
                "looked_for": look.looked_for,
                "not_looked_at": [
                    {"titles": row.object, "figure": row.figure, "why": row.advice}
                    for row in look.unseen
                ],
                "error": vars(look.trouble) if look.trouble else None,
            }
            for look in report.looks
        ],
        "findings": [
            vars(place) | {"severity": severity(row.priority)} | vars(row)
            for place, row in report.found
        ],
    }
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


def sarif(report: Report) -> str:
    """For code scanning: what is to be done today is an error, other faults are warnings, what is only to
    know a note. Figures are nobody's alert: they are left out."""
    known = {one.id: one for look in report.looks for one in look.known}
    results, used = [], set()
    for place, row in report.found:
        if row.priority > Priority.TO_KNOW:
            continue
        more = f" ({row.figure})" if row.figure else ""
        said = f"{row.title}{f': {row.object}' if row.object else ''}{more}. {row.advice}"
        said += f"\nRun, as {row.who}: {row.statement}" if row.statement else ""
        results.append(_result(report, row.id, _level(row.priority), said, place, row.object))
        used.add(row.id)
    for look in report.looks:
        unseen = [(row.object, f"not looked at: {row.object}. {row.advice}") for row in look.unseen]
        if look.trouble:
            unseen.append(("", str(look.trouble)))
        for thing, said in unseen:
            results.append(_result(report, NOT_LOOKED_AT, "warning", said, look.place, thing))
    rules = [
        _rule(one.id, one.title, one.advice, _level(one.priority), one.page)
        for one in known.values()
        if one.priority <= Priority.TO_KNOW
    ]
    titles = {row.id: row.title for _, row in report.found}
    rules += [_rule(id, titles[id], titles[id], "warning", "") for id in sorted(used - set(known))]
    rules.append(_rule(NOT_LOOKED_AT, "not looked at", "Why stands in its text.", "warning", ""))
    whole = not any(look.trouble or look.unseen for look in report.looks)
    run = {"executionSuccessful": whole, "exitCode": int(report.status)}
    return sarif_log(TOOL, rules, results, invocations=[run])


def _level(priority: int) -> str:
    if priority <= Priority.TODAY:
        return "error"
    return "warning" if priority <= Priority.TIDY_UP else "note"


def _result(
    report: Report, rule: str, level: str, said: str, place: Place, thing: str
) -> dict[str, object]:
    return sarif_result(
        report.config, rule, level, said, f"{place}: {thing}" if thing else f"{place}"
    )


def _rule(id: str, title: str, help: str, level: str, page: str) -> dict[str, object]:
    more = f" See {page_of(page)}." if page else ""
    return {
        "id": id,
        "shortDescription": {"text": title},
        "help": {"text": help + more},
        "defaultConfiguration": {"level": level},
    }


def junit(report: Report) -> str:
    """A test for each finding in each database: it fails where something is found."""
    suites = ElementTree.Element("testsuites", name=f"{TOOL} {report.config}")
    for look in report.looks:
        suites.append(_suite(report.config, look))
    return xml(suites)


def _suite(config: str, look: Look) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=plain(f"{TOOL} {config}: {look.place}"))
    suite.set("time", f"{look.milliseconds / 1000:.3f}")
    of_class = plain(f"redial.{config}.{look.place}")
    times = dict(look.times)
    whole = ElementTree.SubElement(suite, "testcase", classname=of_class, name=CANNOT)
    if look.trouble:
        _said(whole, "error", look.trouble.why, str(look.trouble))
    ids = [*(one.id for one in look.known), *times, *(row.id for row in look.found)]
    for id in dict.fromkeys(ids):
        case = ElementTree.SubElement(suite, "testcase", classname=of_class, name=plain(id))
        rows = [row for row in look.found if row.id == id and row.priority <= Priority.TIDY_UP]
        if rows:
            said = "\n\n".join("\n".join(_block(row, None, True)) for row in rows)
            things = ", ".join(row.object for row in rows if row.object)
            _said(case, "failure", f"{rows[0].title}: {things}".rstrip(": "), said)
        elif id not in times:
            ElementTree.SubElement(case, "skipped", message="not looked at")
        if id in times:
            case.set("time", f"{times[id] / 1000:.3f}")
    if look.unseen:
        told = ElementTree.SubElement(suite, "system-out")
        told.text = plain("\n".join(f"not looked at: {r.object}. {r.advice}" for r in look.unseen))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    return suite


def _said(case: ElementTree.Element, tag: str, message: str, said: str) -> None:
    one = ElementTree.SubElement(case, tag, type=tag, message=plain(message))
    one.text = plain(said)


def html(report: Report) -> str:
    """One page without anything from elsewhere."""
    head = ("how bad", "what", "object", "figure", "where", "what to do", "who may", "run", "page")
    body = _table(
        head,
        [
            (
                severity(row.priority),
                *(row.title, row.object, row.figure, str(place), row.advice, row.who),
                *(row.statement, page_of(row.page)),
            )
            for place, row in report.found
        ],
    )
    unseen: list[tuple[str, ...]] = []
    for look in report.looks:
        unseen += [(str(look.place), row.object, row.advice) for row in look.unseen]
        if look.trouble:
            unseen.append((str(look.place), "everything", str(look.trouble)))
    if unseen:
        body += "<h2>Not looked at</h2>\n" + _table(("where", "what", "why"), unseen)
    looked: list[tuple[str, ...]] = [
        (str(look.place), str(len(look.looked_for)), str(look.milliseconds))
        for look in report.looks
    ]
    body += "<h2>Looked at</h2>\n" + _table(("where", "findings looked for", "ms"), looked)
    return html_page(f"{TOOL}: {report.config}", verdict(report), body)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["".join(f"<th>{escape(name)}</th>" for name in head)]
    lines += ["".join(f"<td><pre>{escape(plain(cell))}</pre></td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>\n"


FORMS: dict[str, Callable[[Report], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "junit": junit,
    "html": html,
}
"""By what --format calls them."""

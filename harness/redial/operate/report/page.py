"""A report as one HTML page without anything from elsewhere, as JSON, and as lines for a terminal."""

from __future__ import annotations

import json
from collections import defaultdict
from html import escape

from redial.charts import STYLE as CHARTS
from redial.operate.doctor import Report, Status, severity, worst
from redial.operate.doctor_forms import page_of, verdict, wrapped
from redial.operate.report.model import Cell, Page, Section, Table, Unseen
from redial.quoting import visible
from redial.render.findings import Priority

LONGEST = 600
"""Characters of a text on the page; JSON has all of it."""
_STYLE = (
    CHARTS
    + """
body{font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);margin:0 auto;
max-width:72rem;padding:1rem;overflow-wrap:anywhere}
h1{font-size:1.6rem}
h2{font-size:1.25rem;margin-top:2.2rem;border-top:1px solid var(--faint);padding-top:1rem}
p{max-width:60rem}
.label{border:2px solid var(--bad);padding:.5rem .8rem;font-weight:600}
.verdict{font-size:1.15rem;font-weight:600;padding-left:.8rem;border-left:.5rem solid var(--good)}
.verdict.bad{border-color:var(--bad)}.quiet{color:var(--quiet)}
.wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse}
caption{text-align:left;font-weight:600;padding-bottom:.3rem}
td,th{border-bottom:1px solid var(--faint);padding:.2rem .8rem .2rem 0;text-align:left;
vertical-align:top;max-width:34rem;min-width:8rem}
th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;min-width:0}
td.n{white-space:nowrap}th.n{overflow-wrap:normal}
@media print{body{font-size:11px;max-width:none}.wide{overflow:visible}
tr,.verdict{break-inside:avoid}h2{break-after:avoid}}
"""
)


def html(page: Page) -> str:
    """The page."""
    title = f"Redial report: {page.config}"
    marked = f" ({page.label})" if page.label else ""
    bad = "" if page.status == Status.CLEAN else " bad"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{_text(title + marked)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n",
        f"<h1>{_text(title)}</h1>\n",
    ]
    if page.label:
        parts.append(f'<p class="label">Every figure on this page is of: {_text(page.label)}</p>\n')
    parts.append(f'<p class="verdict{bad}" id="verdict">{_text(page.verdict)}</p>\n')
    parts.append(_table(Table("facts", "What this is about", (), page.facts)))
    if page.unseen:
        parts.append('<h2 id="unseen">Not looked at</h2>\n')
        parts.append(_table(_unseen(page.unseen)))
    else:
        parts.append('<p class="quiet">Everything that belongs here could be looked at.</p>\n')
    parts += [_section(one) for one in page.sections]
    parts.append("</main>\n</body>\n</html>\n")
    return "".join(parts)


def _section(one: Section) -> str:
    first, *more = one.said
    bad = "" if one.status == Status.CLEAN else " bad"
    lines = [
        f'<section aria-labelledby="{one.name}">\n<h2 id="{one.name}">{_text(one.title)}</h2>\n'
    ]
    lines.append(f'<p class="verdict{bad}">{_text(first)}</p>\n')
    lines += [f"<p>{_text(each)}</p>\n" for each in more]
    lines.append(one.pictures)
    lines += [_table(each) for each in one.tables]
    return "".join([*lines, "</section>\n"])


def _table(table: Table) -> str:
    """A region of its own that can be scrolled, also by keys; without a head the first cell is one."""
    caption = _text(table.caption)
    lines = [
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">\n'
        f"<table><caption>{caption}</caption>\n"
    ]
    numbers = {
        place for row in table.rows for place, cell in enumerate(row) if isinstance(cell, int)
    } - {0}
    looks = defaultdict(str, dict.fromkeys(numbers, ' class="n"'))
    if table.head:
        cells = "".join(
            f'<th scope="col"{looks[place]}>{_text(name)}</th>'
            for place, name in enumerate(table.head)
        )
        lines.append(f"<thead><tr>{cells}</tr></thead>\n")
    lines.append("<tbody>\n")
    for row in table.rows:
        first = f'<th scope="row">{_shown(row[0])}</th>'
        cells = "".join(
            f"<td{looks[place]}>{_shown(cell)}</td>" for place, cell in enumerate(row) if place
        )
        lines.append(f"<tr>{first}{cells}</tr>\n")
    return "".join([*lines, "</tbody></table></div>\n"])


def _shown(cell: Cell) -> str:
    if cell is None:
        return "not known"
    return f"{cell:,}" if isinstance(cell, int) else _text(cell)


def _text(words: str) -> str:
    """One line, whatever it is: cut, with what is not to be seen written out."""
    if len(words) > LONGEST:
        words = f"{words[:LONGEST]} ... ({len(words):,} characters)"
    return escape(visible(words))


def _unseen(unseen: tuple[Unseen, ...]) -> Table:
    rows = tuple((str(one.where), one.what, one.why, one.next) for one in unseen)
    head = ("where", "what", "why", "next")
    return Table("not_looked_at", "What could not be looked at, and who may", head, rows)


def as_json(page: Page) -> str:
    """For a program; docs/howto/report.md says what each key means."""
    said = {
        "config": page.config,
        "label": page.label,
        "status": int(page.status),
        "verdict": page.verdict,
        "facts": dict(page.facts),
        "not_looked_at": [
            vars(one.where) | {"what": one.what, "why": one.why, "next": one.next}
            for one in page.unseen
        ],
        "sections": {
            one.name: {
                "title": one.title,
                "status": int(one.status),
                "said": one.said,
                "tables": {
                    each.name: {"caption": each.caption, "head": each.head, "rows": each.rows}
                    for each in one.tables
                },
            }
            for one in page.sections
        },
    }
    return json.dumps(said, indent=1) + "\n"


def text(page: Page) -> str:
    """For a terminal: the verdict, what was not looked at, and each section in a sentence."""
    where = f", {page.label}" if page.label else ""
    head = visible(f"report: configuration {page.config}{where}")
    lines = [head, *wrapped("verdict", page.verdict)]
    for one in page.sections:
        lines += wrapped(one.name, one.said[0])
    for each in page.unseen:
        lines.append(f"NOT LOOKED AT  {visible(str(each.where))}: {visible(each.what)}")
        lines += wrapped("why", each.why)
        lines += wrapped("next", each.next)
    return "\n".join([*lines, ""])


def doctor_section(report: Report) -> Section:
    """What usp_Health finds, with its advice, and its figures."""
    several = len(report.looks) > 1
    found = [each for each in report.found if each[1].priority <= Priority.TO_KNOW]
    figures = [each for each in report.found if each[1].priority > Priority.TO_KNOW]
    rows = tuple(
        (
            *(severity(row.priority), row.title, row.object, row.figure),
            *(row.advice, row.who, row.statement),
            *(page_of(row.page), *([place.database] if several else [])),
        )
        for place, row in found
    )
    head = ("how bad", "what", "object", "figure", "what to do", "who may", "run", "page")
    tables = []
    if rows:
        names = (*head, *(["database"] if several else []))
        tables.append(Table("findings", "Findings, the worst first", names, rows))
    if figures:
        lines = tuple(
            (row.title, row.object, row.figure, *([place.database] if several else []))
            for place, row in figures
        )
        names = ("figure", "object", "value", *(["database"] if several else []))
        tables.append(Table("figures", "Figures", names, lines))
    looked = sum(len(look.looked_for) for look in report.looks)
    status = worst([Status.CLEAN, *(row.status for _, row in report.found)])
    first = verdict(report)
    said = (first, f"Looked for {looked} findings; redial doctor says the same.")
    return Section("doctor", "Doctor", said, status, tuple(tables))


def doctor_unseen(report: Report) -> list[Unseen]:
    """What the doctor could not look at."""
    found = []
    for look in report.looks:
        if look.trouble:
            what = "findings, endpoints and figures of usp_Health"
            why = f"{look.trouble.what}: {look.trouble.why}"
            found.append(Unseen(look.place, what, why, look.trouble.next))
        found += [
            Unseen(
                look.place,
                f"findings: {row.object}",
                row.figure or "a right is missing",
                row.advice,
            )
            for row in look.unseen
        ]
    return found

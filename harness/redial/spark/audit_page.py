"""The audit as one HTML file: verdict, tables and plots, nothing fetched from anywhere."""

from __future__ import annotations

import math
from datetime import UTC
from html import escape
from pathlib import Path

from redial.charts import STEPS, Series, picture
from redial.charts import STYLE as CHARTS
from redial.spark.audit_report import SPOILING, Finding, Report, rows_of

STYLE = (
    CHARTS
    + """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid var(--faint); padding: .2rem .8rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); font-weight: bold; } .good { color: var(--good); font-weight: bold; }
"""
)


def write_page(report: Report, path: Path) -> Path:
    """Write the page to ``path`` and return it."""
    verdict = "good" if report.clean else "bad"
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>delivery audit: {escape(report.label)}</title><style>{STYLE}</style>",
        f"<h1>Delivery audit</h1><p>{escape(report.label)}</p>",
        _about(report),
        f"<p class='{verdict}'>{escape(report.verdict())}</p>",
        _counts(report),
        _findings("Conversations", report.worst),
        _findings("Keys", report.worst_keys),
        "".join(f"<p>{escape(note)}</p>" for note in report.notes),
        *_plots(report),
        "</html>\n",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(part for part in parts if part), encoding="utf-8")
    return path


def _about(report: Report) -> str:
    """Which server, when, by which version."""
    lines = [
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in report.about.items()
    ]
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _counts(report: Report) -> str:
    """The table of the terminal."""
    lines = []
    for name, shown, meaning in rows_of(report):
        bad = " bad" if name in SPOILING and getattr(report, name) else ""
        lines.append(
            f"<tr><th>{escape(name.replace('_', ' '))}</th>"
            f"<td class='n{bad}'>{shown}</td><td>{escape(meaning)}</td></tr>"
        )
    return f"<table>{''.join(lines)}</table>"


def _findings(title: str, findings: list[Finding]) -> str:
    """What is wrong, worst first; nothing when nothing is."""
    if not findings:
        return ""
    head = ("name", "state", "lost", "repeated", "late", "dead", "pending", "missing numbers")
    lines = ["".join(f"<th>{name}</th>" for name in head)]
    for one in findings:
        counts = (one.lost, one.repeats, one.late, one.dead, one.pending)
        lines.append(
            f"<td>{escape(one.name)}</td><td>{escape(one.state)}</td>"
            + "".join(f"<td class='n'>{n:,}</td>" for n in counts)
            + f"<td>{escape(one.missing())}</td>"
        )
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h2>{title} that are not as they should be, worst first</h2><table>{rows}</table>"


def _plots(report: Report) -> list[str]:
    """Landing over time, latency, age at recycling; each only where there is something to show."""
    profile = report.profile
    found = []
    if profile.times:
        found.append(_landing(report))
    if profile.latencies:
        found.append(_sizes(profile.latencies, "Latency from sent to landed", "milliseconds"))
    if profile.ages:
        found.append(_sizes(profile.ages, "Age of dialogs at EndOfStream", "seconds"))
    return found


def _landing(report: Report) -> str:
    """Bars; how wide one is stands beside."""
    times = report.profile.times
    begins = [when.replace(tzinfo=when.tzinfo or UTC).timestamp() for when, _ in times]
    width = begins[1] - begins[0] if len(begins) > 1 else STEPS[0]
    bars = [(begin, count) for begin, (_, count) in zip(begins, times, strict=True)]
    return picture(
        f"Messages landed in each {width:,.10g} s",
        f"{sum(count for _, count in times):,} in all, at most {max(n for _, n in times):,} in one bin",
        [Series("landed", bars, width)],
        begins[0],
        begins[-1] + width,
        ("UTC", f"messages per {width:,.10g} s"),
    )


def _sizes(buckets: list[tuple[float, int]], title: str, unit: str) -> str:
    """Share of what is below each size: a curve that needs no bins. Each mark is ten times the last."""
    total, seen, points = sum(count for _, count in buckets), 0, []
    for edge, count in buckets:
        seen += count
        points.append((math.log10(edge), 100 * seen / total))
    first, last = math.floor(points[0][0]), math.ceil(points[-1][0] + 1e-9)
    marks = [(n, f"{10.0**n:,.10g}") for n in range(first, last + 1)]
    said = f"Half are at most {_half(buckets, total):,.3g} {unit}"
    lines = [Series("at most so long", [(first, 0), (points[0][0], 0), *points, (last, 100)])]
    return picture(title, said, lines, first, last, (unit, "of 100"), marks)


def _half(buckets: list[tuple[float, int]], total: int) -> float:
    seen = 0
    for edge, count in buckets:
        seen += count
        if 2 * seen >= total:
            return edge
    return buckets[-1][0]

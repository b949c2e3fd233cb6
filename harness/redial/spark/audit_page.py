"""The audit as one HTML file: verdict, tables and plots, nothing fetched from anywhere."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import Any

from redial.spark.audit_report import SPOILING, Finding, Report, rows_of

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { border-bottom: 1px solid #ccc; padding: .2rem .8rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: #b00020; font-weight: bold; } .good { color: #1b7a2f; font-weight: bold; }
svg { max-width: 100%; height: auto; }
"""

BLUE, ORANGE = "#1f77b4", "#ff7f0e"


def write_page(report: Report, path: Path) -> Path:
    """Write the page to ``path`` and return it."""
    verdict = "good" if report.clean else "bad"
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        f"<title>delivery audit: {escape(report.label)}</title><style>{STYLE}</style>",
        f"<h1>Delivery audit</h1><p>{escape(report.label)}</p>",
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
    if len(profile.times) > 1:
        found.append(_svg(_landing, profile.times, "messages landed over time (UTC)"))
    if profile.latencies:
        found.append(_svg(_sizes, profile.latencies, "latency, ms from sent to landed", ORANGE))
    if profile.ages:
        found.append(_svg(_sizes, profile.ages, "age of dialogs at EndOfStream, seconds", BLUE))
    return found


def _landing(axis: Any, times: list[tuple[Any, int]], title: str) -> None:
    edges = [moment for moment, _ in times]
    axis.fill_between(edges, [count for _, count in times], step="post", color=BLUE)
    axis.set_title(title, fontsize=11)
    axis.set_ylabel("messages")
    axis.set_ylim(bottom=0)


def _sizes(axis: Any, buckets: list[tuple[float, int]], title: str, colour: str) -> None:
    """Share of what is below each size: a curve that needs no choice of bins."""
    total, seen, edges, shares = sum(n for _, n in buckets), 0, [], []
    for edge, count in buckets:
        seen += count
        edges.append(edge)
        shares.append(100 * seen / total)
    axis.step([edges[0], *edges], [0, *shares], where="post", color=colour, lw=2)
    if edges[-1] > 20 * edges[0]:
        axis.set_xscale("log")
    axis.set_title(title, fontsize=11)
    axis.set_ylabel("% at most")
    axis.set_ylim(0, 101)
    axis.grid(alpha=0.3)


def _svg(draw: Any, *arguments: Any) -> str:
    """One plot as SVG text, the same bytes for the same figures."""
    import matplotlib

    matplotlib.use("Agg")  # no display is needed to write a file
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "redial", "svg.fonttype": "none"}):
        figure, axis = pyplot.subplots(figsize=(9, 2.8), layout="constrained")
        draw(axis, *arguments)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    svg = text.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)

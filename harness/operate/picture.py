"""The report's picture: messages over time, and the states of the dialogs' endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Look(Protocol):
    """One moment of a run (scenarios.audit.Sample)."""

    second: float
    sent: int
    landed: int
    states: dict[str, int]


COLOURS = {
    "initiator CONVERSING": "#1f77b4",
    "target CONVERSING": "#17becf",
    "initiator DISCONNECTED_INBOUND": "#ff7f0e",
    "target DISCONNECTED_INBOUND": "#d62728",
    "initiator DISCONNECTED_OUTBOUND": "#bcbd22",
    "target DISCONNECTED_OUTBOUND": "#8c564b",
    "initiator ERROR": "#e377c2",
    "target ERROR": "#c51b8a",
    "target CLOSED": "#bbbbbb",
}


def draw(samples: Sequence[Look], path: Path, title: str, verdict: str) -> Path:
    """Write the picture as PNG to ``path`` and return it. ``verdict`` stands below the title."""
    import matplotlib

    matplotlib.use("Agg")  # no display is needed to write a file
    from matplotlib import pyplot

    figure, (top, middle, bottom) = pyplot.subplots(
        3, 1, sharex=True, figsize=(10, 8), height_ratios=(3, 2, 2), layout="constrained"
    )
    seconds = [s.second for s in samples]
    top.plot(seconds, [s.sent for s in samples], label="sent", color="#1f77b4")
    top.plot(seconds, [s.landed for s in samples], label="landed", color="#2ca02c")
    top.set_ylabel("messages")
    top.legend(loc="upper left")
    top.set_title(f"{title}\n{verdict}", fontsize=11)
    names = sorted({name for s in samples for name in s.states})
    for name in names:
        if name == "target CLOSED":
            continue
        values = [s.states.get(name, 0) for s in samples]
        middle.step(seconds, values, where="post", label=name, color=COLOURS.get(name))
    middle.set_ylabel("endpoints alive")
    if middle.lines:
        middle.legend(loc="upper left", fontsize=8, ncols=2)
    closed = [s.states.get("target CLOSED", 0) for s in samples]
    bottom.fill_between(seconds, closed, step="post", color=COLOURS["target CLOSED"])
    bottom.set_ylabel("target CLOSED\n(replay memory)")
    bottom.set_xlabel("seconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path

"""The report's picture: messages over time, and the states of the dialogs' endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol


class Look(Protocol):
    """One moment of a run (scenarios.audit.Sample)."""

    @property
    def second(self) -> float:
        """When, from the run's start."""

    @property
    def sent(self) -> int:
        """Messages sent so far."""

    @property
    def landed(self) -> int:
        """Messages landed so far."""

    @property
    def states(self) -> Mapping[str, int]:
        """Endpoints by side and state, as ``initiator CONVERSING``."""


COLOURS = {
    "STARTED_OUTBOUND": "#9edae5",
    "CONVERSING": "#1f77b4",
    "DISCONNECTED_INBOUND": "#ff7f0e",
    "DISCONNECTED_OUTBOUND": "#8c564b",
    "ERROR": "#d62728",
    "CLOSED": "#c7c7c7",
}
"""Of each endpoint state, the same in every picture."""

OTHER = "#7f7f7f"


def draw(samples: Sequence[Look], path: Path, title: str, verdict: str) -> Path:
    """Write the picture as PNG to ``path`` and return it. ``verdict`` stands below the title."""
    import matplotlib

    matplotlib.use("Agg")  # no display is needed to write a file
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        4, 1, sharex=True, figsize=(10, 9), height_ratios=(3, 1.5, 2, 2), layout="constrained"
    )
    seconds = [s.second for s in samples]
    axes[0].plot(seconds, [s.sent for s in samples], label="sent", color="#1f77b4", lw=3)
    axes[0].plot(seconds, [s.landed for s in samples], label="landed", color="#2ca02c", lw=1.5)
    axes[0].set_ylabel("messages")
    axes[0].set_title(f"{title}\n{verdict}", fontsize=11)
    rates = [(b.landed - a.landed) / (b.second - a.second) for a, b in pairwise(samples)]
    if rates:
        axes[1].stairs(rates, seconds, fill=True, label="landed per second", color="#98df8a")
    axes[1].set_ylabel("messages/s")
    _states(axes[2], samples, "initiator")
    _states(axes[3], samples, "target")
    axes[3].set_xlabel("seconds")
    for axis in axes:
        axis.set_ylim(bottom=0)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _states(axis: Any, samples: Sequence[Look], side: str) -> None:
    """The endpoints of one side, stacked by state; CLOSED ones, a memory of replays, on top."""
    names = sorted(
        {name for s in samples for name in s.states if name.startswith(f"{side} ")},
        key=lambda name: (name.endswith(" CLOSED"), name),
    )
    axis.set_ylabel(f"{side}\nendpoints")
    if names:
        axis.stackplot(
            [s.second for s in samples],
            [[s.states.get(name, 0) for s in samples] for name in names],
            labels=[name.partition(" ")[2] for name in names],
            colors=[COLOURS.get(name.partition(" ")[2], OTHER) for name in names],
            step="post",
        )

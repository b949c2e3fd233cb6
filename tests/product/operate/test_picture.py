"""The picture is a PNG, whatever the run looked like."""

from __future__ import annotations

from redial.operate.picture import draw
from redial_lab.scenarios.client_load import Sample

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_run_with_every_kind_of_state_is_drawn(tmp_path):
    samples = [
        Sample(0.0, 0, 0, {}),
        Sample(0.5, 10, 4, {"initiator CONVERSING": 2, "target CONVERSING": 1}),
        Sample(1.0, 20, 20, {"initiator ERROR": 1, "target CLOSED": 3, "target NEW STATE": 1}),
    ]
    path = draw(samples, tmp_path / "deep" / "run.png", "title", "clean")
    assert path.read_bytes().startswith(PNG)


def test_a_run_that_was_never_looked_at_is_drawn(tmp_path):
    assert draw([], tmp_path / "empty.png", "title", "not clean").read_bytes().startswith(PNG)

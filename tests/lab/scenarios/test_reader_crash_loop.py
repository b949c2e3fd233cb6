"""harness/redial_lab/scenarios/reader_crash_loop.py"""

from __future__ import annotations

import pytest

from redial_lab.scenarios.all import SCENARIOS
from redial_lab.scenarios.story import told
from redial_lab.virtual import VirtualPort
from tests.lab.scenarios.lab import caught


@pytest.mark.parametrize("relaunched", ["stuck", "relaunched"])
def test_readers_killed_at_work_cost_no_message_and_no_dialog(relaunched):
    """Whatever the engine does about a queue whose reader died before its first RECEIVE (F-255)."""
    port = VirtualPort(killed_reader=relaunched)
    found = told(SCENARIOS["reader-crash-loop"], port)
    assert found.problems == []
    assert found.landed == found.acknowledged == found.attempted
    assert found.errors == 0


def test_a_recycling_that_is_cut_in_two_and_never_asked_again_is_caught():
    assert caught("reader-crash-loop").leaked

"""The process of a deployment is killed (SIGKILL), over TCP: the next one finishes, history names both."""

from __future__ import annotations

import signal

import pytest

from redial.cli.deploy import deploy, verify
from redial.cli.history import history
from redial.paths import ROOT

from .conftest import killed_at, run, status_of

pytestmark = pytest.mark.driver
DEPLOY = ["deploy", "--config", "audit"]
PLACES = ["28_Setting", "50_queues", "74_05_usp_SenderActivation", "90_deployment"]


@pytest.mark.parametrize("place", PLACES)
def test_a_deployment_that_was_killed_is_finished_by_the_next(site, place, capsys):
    assert killed_at([*DEPLOY, "--server", site.empty], place, ROOT) == -signal.SIGKILL
    assert status_of(deploy, server=site.empty) == 0
    assert status_of(verify, server=site.empty) == 0
    assert status_of(history, server=site.empty) == 0
    if place != PLACES[0]:  # before its table there was nothing to write it in
        assert "deploy abandoned" in capsys.readouterr().out
    assert run(site.empty, "SELECT COUNT(*) FROM audit.DeploymentHistory;") == [(1,)]

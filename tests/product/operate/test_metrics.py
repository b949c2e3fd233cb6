"""``redial metrics``: the figures for Prometheus, printed, in a file, on a port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redial.cli.metrics import LABELS, metrics
from redial.paths import ROOT
from tests.product.deploy.conftest import run, status_of

from .test_doctor import operator

__all__ = ["operator"]
pytestmark = pytest.mark.driver
REDIAL = Path(sys.executable).with_name("redial")


def gauges(text: str) -> dict[tuple[str, str], float]:
    """Value by name and own label."""
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            own = [v for k, v in one.labels.items() if k not in ("config", "database")]
            found[one.name, "".join(own)] = one.value
    return found


def test_each_figure_is_a_gauge_with_the_names_prometheus_expects(site, operator, capsys):
    capsys.readouterr()
    assert status_of(metrics, server=operator) == 0
    said = capsys.readouterr().out
    found = gauges(said)
    assert found["redial_up", ""] == 1 and found["redial_gate_open", ""] == 1
    assert found["redial_rows", "Landing"] == 0
    assert found["redial_queue_receive_enabled", "TargetQueue"] == 1
    assert ("redial_queue_readers", "TargetQueue") not in found  # an operator does not see them
    assert found["redial_conversations_slowed", ""] == 0
    assert 'config="audit",database="site"' in said
    names = [family.name for family in text_string_to_metric_families(said)]
    assert len(names) == len(set(names)) and all(re.fullmatch("redial_[a-z_]+", n) for n in names)


def test_every_figure_of_the_procedure_has_its_gauge(site):
    known = {name for name, *_ in run(site.server, "EXECUTE audit.usp_Figures;")}
    assert known and known <= LABELS.keys()


def test_a_database_that_does_not_answer_is_down_and_the_status_is_4(site, capsys):
    capsys.readouterr()
    assert status_of(metrics, server=site.empty) == 4
    said, error = capsys.readouterr()
    assert gauges(said)["redial_up", ""] == 0
    assert "usp_Figures" in error and "Next: redial deploy --config audit" in error


def test_a_file_is_replaced_whole(site, tmp_path, capsys):
    file = tmp_path / "redial.prom"
    file.write_text("old")
    assert status_of(metrics, server=site.server, out=str(file)) == 0
    assert gauges(file.read_text())["redial_up", ""] == 1
    assert [one.name for one in tmp_path.iterdir()] == ["redial.prom"]


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left_beside_it(
    site, tmp_path, capsys
):
    for out, words in (
        (tmp_path / "folder", "folder: is a folder"),
        (tmp_path / "no" / "x", "x: cannot be"),
    ):
        (tmp_path / "folder").mkdir(exist_ok=True)
        capsys.readouterr()
        assert status_of(metrics, server=site.server, out=str(out)) == 1
        assert words in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_what_does_not_fit_is_said_before_a_server_is_asked(capsys):
    for options, words in (
        ({"port": 70000}, "--port 70000: is no port"),
        ({"port": 0, "out": "x"}, "do not go together"),
    ):
        capsys.readouterr()
        assert status_of(metrics, server="Server=127.0.0.1,1;Database=x", **options) == 1
        assert words in capsys.readouterr().err


HEEDS_INTERRUPTS = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""What a shell starts in the background ignores Ctrl+C, and so does what that starts."""


def test_a_port_is_scraped_and_each_scrape_asks_anew(site):
    program = subprocess.Popen(
        [
            *(sys.executable, "-c", HEEDS_INTERRUPTS),
            *(REDIAL, "metrics", "--config", "audit", "--port", "0"),
        ],
        env=os.environ | {"REDIAL_SERVER": site.server},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        where = program.stdout.readline().split(",")[0]
        run(
            site.server,
            "INSERT INTO audit.ErrorLog (ProcedureName, ErrorMessage) VALUES (N'x', N'y');",
        )
        with urlopen(where, timeout=60) as answer:
            assert gauges(answer.read().decode())["redial_errors_last_hour", ""] == 1
        run(site.server, "DELETE audit.ErrorLog;")
        with urlopen(where, timeout=60) as answer:
            assert gauges(answer.read().decode())["redial_errors_last_hour", ""] == 0
    finally:
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == 130


def test_the_rules_of_the_page_name_gauges_that_are_there():
    page = (ROOT / "docs" / "howto" / "metrics.md").read_text("utf-8")
    named = set(re.findall(r"\bredial_(?!servicebroker)[a-z_]+", page))
    known = {f"redial_{name}" for name in LABELS} | {"redial_up", "redial_ask_seconds"}
    assert len(named) > 5 and named <= known

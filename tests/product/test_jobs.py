"""``redial land`` and ``redial audit`` take what the Spark jobs take, and give their status."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest
from invoke.context import Context

from redial.cli import jobs
from redial.cli.main import namespace
from redial.paths import SOURCES
from redial.spark import audit as audit_job
from redial.spark import land as land_job
from redial.spark.audit_arguments import parser as audit_parser

PARSERS = {"audit": audit_parser(), "land": land_job._parser()}
JOBS = {"audit": audit_job, "land": land_job}


def options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Each option a parser has, by its flag."""
    return {one.option_strings[-1]: one for one in parser._actions if one.dest != "help"}


def redial(*arguments: str, folder) -> subprocess.CompletedProcess:
    """The console command, from a folder that is no project's."""
    return subprocess.run(
        [sys.executable, "-c", "from redial.cli.main import main; main()", *arguments],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "REDIAL_SERVER"}
        | {"PYTHONPATH": str(SOURCES), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def given(monkeypatch, name: str) -> list[list[str]]:
    """What the job's main was called with, from here on."""
    calls: list[list[str]] = []
    monkeypatch.setattr(JOBS[name], "main", lambda arguments: calls.append(arguments) or 0)
    return calls


@pytest.mark.parametrize("name", PARSERS)
def test_a_job_has_the_options_of_its_parser_and_no_other(name):
    flags = {flag for one in namespace[name].get_arguments() for flag in one.names}
    assert {f"--{flag}" for flag in flags} == set(options(PARSERS[name]))


@pytest.mark.parametrize("name", PARSERS)
def test_each_option_reaches_the_job_as_it_was_given(name, monkeypatch):
    """With a value that has what a shell or a parser could take for something else."""
    calls = given(monkeypatch, name)
    for flag, one in options(PARSERS[name]).items():
        value = True if one.nargs == 0 else "-a=b; 'c'"
        namespace[name](Context(), **{one.dest: value})
        assert calls.pop() == [flag if value is True else f"{flag}={value}"]


def test_an_empty_value_is_passed_on_and_what_is_not_given_is_not(monkeypatch):
    """``--reader ''`` means something else than no --reader."""
    calls = given(monkeypatch, "land")
    namespace["land"](Context(), to="x", reader="", kind=None)
    assert calls == [["--to=x", "--reader="]]


@pytest.mark.parametrize("status", [1, 2])
def test_a_jobs_status_is_the_commands(status, monkeypatch):
    for name, job in JOBS.items():
        monkeypatch.setattr(job, "main", lambda arguments: status)
        with pytest.raises(SystemExit) as stop:
            namespace[name](Context())
        assert stop.value.code == status


@pytest.mark.parametrize("name", PARSERS)
def test_help_explains_each_option_in_any_folder(name, tmp_path):
    done = redial(name, "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    missing = [flag for flag in options(PARSERS[name]) if flag not in done.stdout]
    assert missing == [] and "Exit status: 0" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["audit", "--nonsense"], ["audit", "--json"], ["audit", "word"], ["audit"], ["land"]],
    ids=" ".join,
)
def test_a_wrong_argument_is_2_which_is_no_verdict(arguments, tmp_path):
    done = redial(*arguments, folder=tmp_path)
    assert done.returncode == jobs.WRONG_ARGUMENT, done.stderr
    assert "Traceback" not in done.stderr and done.stderr.strip()


def test_another_commands_wrong_argument_is_still_1(tmp_path):
    assert redial("verify", "--nonsense", folder=tmp_path).returncode == 1

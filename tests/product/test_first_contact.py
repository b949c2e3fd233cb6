"""What somebody meets who types a command for the first time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from redial.cli import jobs
from redial.cli.init import init
from redial.cli.main import namespace, program
from redial.cli.naming import renamed


@dataclass
class Ran:
    """What a command line came to."""

    status: int
    out: str
    err: str


@pytest.fixture
def ran(capsys):
    """Runs a line of the console command here, in the current folder."""

    def run_it(*arguments):
        capsys.readouterr()
        try:
            program.run(["redial", *arguments])
        except SystemExit as stop:
            return Ran(stop.code or 0, *capsys.readouterr())
        return Ran(0, *capsys.readouterr())

    return run_it


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A project folder with one configuration, the current folder; nothing names a server."""
    init(str(tmp_path / "mine"), "mine")
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.delenv("REDIAL_SERVER", raising=False)
    return tmp_path / "mine"


# --- which configuration -----------------------------------------------------------------------

OF_ALL = {"lint", "render", "torture"}
"""What takes all configurations where none is named."""
OF_ONE = [
    name
    for name in sorted(namespace.task_names)
    if name not in OF_ALL | jobs.NAMES
    and any(one.name == "config" for one in namespace[name].get_arguments())
]


@pytest.mark.parametrize("called", OF_ONE)
def test_the_only_configuration_of_a_folder_needs_no_name(called, mine, ran):
    said = ran(called, *(["--module=x"] if called == "adopt" else []))
    assert said.status == 1 and "--server: is missing" in said.err


@pytest.mark.parametrize("called", OF_ONE)
def test_of_several_configurations_one_must_be_named(called, mine, ran):
    (mine / "sql" / "configs" / "yours.toml").write_text(renamed("yours"), "utf-8")
    said = ran(called, "--server", "embedded")
    assert said.status == 1
    assert "--config: is missing" in said.err and "one of: mine, yours" in said.err


def test_a_mistyped_configuration_is_answered_with_the_one_that_was_meant(mine, ran):
    said = ran("plan", "--config", "mien", "--server", "embedded")
    assert said.status == 1 and "did you mean mine?" in said.err
    assert "did you mean" not in ran("plan", "--config", "zzz", "--server", "embedded").err

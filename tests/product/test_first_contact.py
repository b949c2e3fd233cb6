"""What somebody meets who types a command for the first time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from redial.cli import jobs, listing
from redial.cli.init import init
from redial.cli.main import namespace, program
from redial.cli.naming import renamed

REDIAL = [sys.executable, "-c", "from redial.cli.main import main; main()"]
"""The console command, whose script is not on every path."""


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
WORDS = {"adopt": ["--module=x"], "trace": ["x"]}
"""What else a command must be told."""
OF_ONE = [
    name
    for name in sorted(namespace.task_names)
    if name not in OF_ALL | jobs.NAMES
    and any(one.name == "config" for one in namespace[name].get_arguments())
]


@pytest.mark.parametrize("called", OF_ONE)
def test_the_only_configuration_of_a_folder_needs_no_name(called, mine, ran):
    said = ran(called, *WORDS.get(called, []))
    assert said.status == 1 and "--server: is missing" in said.err


@pytest.mark.parametrize("called", OF_ONE)
def test_of_several_configurations_one_must_be_named(called, mine, ran):
    (mine / "sql" / "configs" / "yours.toml").write_text(renamed("yours"), "utf-8")
    said = ran(called, *WORDS.get(called, []), "--server", "embedded")
    assert said.status == 1
    assert "--config: is missing" in said.err and "one of: mine, yours" in said.err


def test_a_mistyped_configuration_is_answered_with_the_one_that_was_meant(mine, ran):
    said = ran("plan", "--config", "mien", "--server", "embedded")
    assert said.status == 1 and "did you mean mine?" in said.err
    assert "did you mean" not in ran("plan", "--config", "zzz", "--server", "embedded").err


# --- help --------------------------------------------------------------------------------------


def test_each_command_is_in_one_group_of_the_one_list_of_help(ran):
    grouped = [name for names in listing.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(namespace.task_names)
    listed = ran("--help")
    assert listed.status == 0 and listed == ran() == ran("--list") == ran("--list", "x")
    assert len(re.findall(r"^  deploy ", listed.out, re.M)) == 1
    assert "--prompt-for-sudo-password" not in listed.out


def test_what_is_for_makers_stands_behind_what_is_for_users(ran):
    users, _, makers = ran("--help").out.partition("Make Redial itself:")
    for name in namespace.task_names:
        shown_to = makers if name in listing.OF_MAKERS else users
        other = users if name in listing.OF_MAKERS else makers
        assert re.search(rf"^  {name} +\S", shown_to, re.M), name
        assert not re.search(rf"^  {name} +\S", other, re.M), name


def test_invoke_which_knows_no_groups_says_of_each_makers_command_that_it_is_one():
    for name in namespace.task_names:
        told = (namespace[name].__doc__ or "").startswith(listing.FOR_MAKERS)
        assert told == (name in listing.OF_MAKERS), name


@pytest.mark.parametrize("name", sorted(namespace.task_names))
def test_help_of_a_command_names_what_is_typed_and_nothing_of_invoke(
    name, ran, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    said = ran(name, "--help")
    assert said.status == 0 and said.err == "" and said == ran("--help", name)
    needed = {"init": " FOLDER", "scenario": " NAME", "trace": " WHAT"}.get(name, "")
    assert said.out.startswith(f"Usage: redial {name}{needed} [options]\n")
    assert "None" not in said.out and "other tasks" not in said.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("deploi", "deploi: is no command\n  Next: did you mean deploy?"),
        ("--help deploi", "deploi: is no command\n  Next: did you mean deploy?"),
        ("xyzzy", "xyzzy: is no command\n  Next: redial --help lists them"),
        ("plan --serv x", "plan: --serv: is no option\n  Next: did you mean --server?"),
        ("plan extra", "plan: extra: is too much\n  Next: redial plan --help"),
        ("plan --server", "plan: --server: wants a value\n  Next: redial plan --help"),
        ("deploy --from", "deploy: --from: wants a value\n  Next: redial deploy --help"),
        ("deploy --wait-seconds", "deploy: --wait-seconds: wants a value\n"),
        (
            "deploy --wait-seconds x",
            "--wait-seconds 'x': is no number\n  Next: redial deploy --help",
        ),
        (
            "deploy --wait-seconds=x",
            "--wait-seconds 'x': is no number\n  Next: redial deploy --help",
        ),
        ("torture --minutes=x", "--minutes 'x': is no number\n  Next: redial torture --help"),
        ("--list-depth x", "--list-depth 'x': is no number\n  Next: redial --help"),
        ("init", "init: FOLDER is missing\n  Next: redial init FOLDER"),
        ("--nonsense", "redial: --nonsense: is no option\n  Next: redial --help"),
    ],
)
def test_a_mistyped_line_is_answered_with_what_was_meant_and_where_to_look(line, words, ran):
    said = ran(*line.split())
    assert said.status == 1 and said.out == "" and words in said.err


# --- output that somebody copies, or stops reading ---------------------------------------------


def test_a_folder_with_a_blank_is_printed_as_a_shell_takes_it(ran, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "cd 'my messages', look" in ran("init", "my messages").out
    assert "cd mine, look" in ran("init", "mine").out


@pytest.mark.parametrize("line", ["--help", "render", "init --help", "--version"])
def test_a_command_whose_reader_has_gone_ends_what_it_does_and_says_nothing_of_it(line, mine):
    shutil.rmtree(mine / "sql" / "generated")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*REDIAL, *line.split()], check=False, stdout=writer, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    if line == "render":
        assert (mine / "sql" / "generated" / "mine" / "SHA256SUMS").is_file()

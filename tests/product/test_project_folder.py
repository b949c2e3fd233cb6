"""What ``redial init`` makes for a CI: every command in it exists with these options, and the files are
what the CI reads."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from invoke.parser import ParseError, Parser
from packaging.requirements import Requirement

from redial.cli.configs import render
from redial.cli.deploy import deploy
from redial.cli.init import FILES, init
from redial.cli.main import namespace
from redial.paths import DOCS, ROOT
from redial.render import LineEnds, read
from redial.version import VERSION
from redial.wheel import FILE
from tests.sampling import full
from tests.waiting import HANGS

PIPELINES = [".github/workflows/redial.yml", "azure-pipelines.yml"]
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
"""From the Go module proxy; what is on the PATH is taken first."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("project") / "mine"
    init(str(root), "billing")
    return root


def scripts(node: Any) -> Iterator[str]:
    """Every shell text of a pipeline: what GitHub calls run, Azure script."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script") and isinstance(value, str):
                yield value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for value in node:
            yield from scripts(value)


def commands(text: str) -> list[list[str]]:
    """Each call of redial in a shell text, as words; redirections and what follows apart."""
    found = []
    for line in text.splitlines():
        if match := re.match(r"\s*(?:[$>] )?redial ([^>|&#]*)", line):
            found.append(shlex.split(match[1]))
    return found


def parsed(words: list[str]) -> None:
    """As the program reads them. Raises ParseError for an option there is not."""
    parser = Parser(contexts=namespace.to_contexts())
    contexts = parser.parse_argv(words)
    assert [context.name for context in contexts][-1] == words[0]


def test_the_folder_has_every_file(folder):
    assert [name for name in FILES.values() if not (folder / name).is_file()] == []


@pytest.mark.parametrize("name", PIPELINES)
def test_every_command_of_a_pipeline_exists_with_these_options(folder, name):
    text = (folder / name).read_text("utf-8")
    calls = [call for script in scripts(yaml.safe_load(text)) for call in commands(script)]
    assert len(calls) >= 6
    assert {call[0] for call in calls} == {"render", "lint", "deploy", "plan", "verify"}
    for call in calls:
        parsed(call)
        assert "billing" in call or call[0] in ("render", "lint"), call
    assert not re.search(r"\$(name|version)\b", text)


def test_every_command_of_the_pages_for_a_ci_exists_with_these_options():
    pages = sorted((DOCS / "howto").glob("deploy-with-*.md"))
    assert len(pages) > 5
    calls = [
        call
        for page in pages
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text("utf-8"), re.S)
        for call in commands(block)
    ]
    assert calls
    for call in calls:
        parsed([word for word in call if word != "\\"])


def test_a_command_with_an_option_there_is_not_is_seen():
    with pytest.raises(ParseError):
        parsed(["plan", "--config", "audit", "--exit-cod"])


@pytest.mark.parametrize("name", PIPELINES)
def test_no_pipeline_shows_a_secret_on_a_command_line(folder, name):
    """A secret comes by the environment, which the log does not print."""
    for script in scripts(yaml.safe_load((folder / name).read_text("utf-8"))):
        assert "secrets." not in script and "RedialServer" not in script and "PWD=" not in script


def test_without_the_secret_the_pipeline_says_that_nothing_was_planned(folder):
    """No false green: a job whose every step is left out would look like a plan of nothing."""
    [step] = [
        step
        for step in yaml.safe_load((folder / PIPELINES[0]).read_text("utf-8"))["jobs"]["plan"][
            "steps"
        ]
        if step.get("if") == "env.REDIAL_SERVER == ''"
    ]
    assert "::warning::" in step["run"]


def test_actionlint_finds_nothing(folder):
    tool = shutil.which("actionlint")
    command = [tool] if tool else ["go", "run", ACTIONLINT]
    if tool is None and not (full() and shutil.which("go")):
        pytest.skip("no actionlint on the PATH; --full takes it from the Go module proxy")
    done = subprocess.run(
        [*command, str(folder / PIPELINES[0])],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        env=os.environ | {"GOFLAGS": "-mod=mod"},
    )
    if done.returncode == 1 and "module" in done.stderr and not done.stdout:
        pytest.skip(f"the Go module proxy has no actionlint: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr


# --- where Redial comes from -------------------------------------------------------------------


def test_a_pipeline_takes_redial_from_where_requirements_say_and_from_no_index(folder):
    for name in PIPELINES:
        lines = [
            line
            for script in scripts(yaml.safe_load((folder / name).read_text("utf-8")))
            for line in script.splitlines()
            if "pip" in line
        ]
        assert set(lines) == {"pip install -r requirements.txt"}, name
    said = (folder / "requirements.txt").read_text("utf-8").splitlines()
    [line] = [line for line in said if not line.startswith("#")]
    assert line == f"./{FILE}[broker]"
    other = Requirement(said[-1].removeprefix("# "))
    assert other.url == f"git+https://HOST/OWNER/redial@v{VERSION}" and other.extras == {"broker"}


OURS = re.compile(
    r"pip3? install[^\n]*redial-servicebroker(?![^\n]*@)|pypi\.org/project/redial", re.I
)
"""A name of ours that pip would look up: whoever registers it there has our users."""


def test_nothing_tells_people_to_install_a_name_that_is_not_ours(folder):
    assert OURS.search("pip install 'redial-servicebroker[spark]'")
    assert not OURS.search("pip install 'redial-servicebroker[spark] @ git+https://HOST/x'")
    texts = [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "harness").rglob("*.*")]
    texts += [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), *folder.rglob("*.*")]
    kinds = {".md", ".py", ".ipynb", ".yml", ".txt", ".sh", ".toml"}
    assert [
        str(path)
        for path in texts
        if path.suffix in kinds and OURS.search(path.read_text("utf-8", "replace"))
    ] == []


# --- line ends ---------------------------------------------------------------------------------


def git(root: Path, *words: str) -> None:
    settings = ("core.autocrlf=true", "user.name=a", "user.email=a@example.invalid")
    options = [part for one in settings for part in ("-c", one)]
    subprocess.run(["git", *options, *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("kept", [True, False], ids=["as made", "without .gitattributes"])
def test_git_on_windows_leaves_what_was_rendered_as_it_was(kept, tmp_path):
    """core.autocrlf, which Git for Windows sets, writes CRLF at a checkout."""
    init(str(tmp_path / "mine"), "billing")
    generated = tmp_path / "mine" / "sql" / "generated" / "billing"
    if not kept:
        (tmp_path / "mine" / ".gitattributes").unlink()
    git(tmp_path / "mine", "init", "--quiet")
    git(tmp_path / "mine", "add", "--all")
    git(tmp_path / "mine", "commit", "--quiet", "--message", "x")
    shutil.rmtree(generated)
    git(tmp_path / "mine", "checkout", "--", ".")
    if kept:
        read(generated)
        return
    with pytest.raises(LineEnds):
        read(generated)


def with_crlf(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def test_changed_line_ends_are_named_as_that_with_what_mends_them(tmp_path, monkeypatch, capsys):
    init(str(tmp_path / "mine"), "billing")
    monkeypatch.chdir(tmp_path / "mine")
    for path in (tmp_path / "mine" / "sql" / "generated" / "billing").iterdir():
        with_crlf(path)
    for call in (lambda: deploy("billing", server="embedded"), lambda: render("billing", True)):
        capsys.readouterr()
        with pytest.raises(SystemExit):
            call()
        said = "".join(capsys.readouterr())
        assert "line ends" in said and "changed from LF to CRLF" in said and "Next: " in said
    with pytest.raises(SystemExit):
        deploy("billing", server="embedded")
    said = capsys.readouterr().err
    # one is named, and SHA256SUMS is the judge
    others = len([*(tmp_path / "mine" / "sql" / "generated" / "billing").iterdir()]) - 2
    assert f"0_preflight.sql and {others} more files" in said
    assert "sql/generated/** -text" in said and "redial render writes them anew" in said


def test_another_change_beside_line_ends_is_not_taken_for_them(tmp_path):
    init(str(tmp_path / "mine"), "billing")
    folder = tmp_path / "mine" / "sql" / "generated" / "billing"
    with_crlf(folder / "1_core.sql")
    (folder / "0_preflight.sql").write_bytes(b"SELECT 1;\r\n")
    with pytest.raises(
        ValueError, match=r"0_preflight.sql was changed after .*; the line ends of"
    ) as one:
        read(folder)
    assert not isinstance(one.value, LineEnds)

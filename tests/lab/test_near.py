"""``invoke test --near``: each changed file leads to its tests, and one that leads to none is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from redial.cli.errors import UserError
from redial.paths import ROOT
from redial_lab.commands import near as command
from redial_lab.commands.test import test as run_tests
from redial_lab.near import MOST, Near, Suite


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(ROOT)


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        (("harness/redial/cli/top", ".py"), "tests/product/operate/test_top.py"),
        (("harness/redial/cli/pipes", ".py"), "tests/product/test_first_contact.py"),
        (("harness/redial/operate/doctor", ".py"), "tests/product/operate/test_doctor.py"),
        (("harness/redial_lab/scenarios/recycle_race", ".py"), "tests/lab/scenarios/test_recycle_race.py"),
        (("sql/templates/bulk/72_send/06_usp_SendBatch", ".j2"), "tests/product/sql/test_usp_SendBatch.py"),
        (("sql/templates/core/72_send/close_here", ".inc.j2"), "tests/product/render/test_key_parts.py"),
        (("sql/templates/monitor/looks/sessions", ".sql.j2"), "tests/product/sql/test_usp_Health.py"),
        (("sql/comparators/forum_aged/comparator", ".toml"), "tests/lab/comparators/test_forum_aged.py"),
        (("sql/templates/monitor/65_functions/02_ufn_Sides", ".j"), "tests/product/sql/test_usp_Trace.py"),
        (("sql/templates/core/77_target/03_usp_PickConversation", ".j"), "tests/product/sql/test_usp_CountRefusals.py"),  # noqa: E501
        (("tests/lab/test_near", ".py"), "tests/lab/test_near.py"),
        (("tests/product/lint/cases/SB01", ".yaml"), "tests/product/lint/test_rules.py"),
        (("docs/howto/top", ".md"), "tests/product/operate/test_top.py"),
        (("docs/glossary", ".md"), "tests/test_links.py"),
        (("README", ".md"), "tests/test_readme.py"),
    ],
)  # fmt: skip
def test_a_file_leads_to_its_tests(changed, first, suite):
    (found,) = suite.near(["".join(changed)])  # in two parts: this file must not name it
    assert found.tests[0] == first and len(found.tests) <= MOST + 1


def test_a_finding_leads_to_its_scenario_alone(suite):
    (found,) = suite.near(["sql/templates/monitor/findings/queue-off.sql.j2"])
    assert found.only == "queue-off" and len(found.tests) == 1


def test_every_file_of_ours_that_does_something_leads_to_a_test(suite):
    listed = subprocess.run(
        ["git", "ls-files", "harness", "sql", "docs", "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = suite.near(listed)
    assert len(found) > 2_000
    assert [one.changed for one in found if not one.tests] == []
    assert [
        one.changed for one in found if any(not (ROOT / test).is_file() for test in one.tests)
    ] == []


def test_a_file_that_nobody_knows_leads_nowhere(suite):
    assert suite.near(["no_such_folder/no_such_file" + ".qqq"])[0].tests == ()


# --- the command -------------------------------------------------------------------------------


class Clone:
    """A repository with a branch, whose tests are only noted down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: list[tuple[str, ...]] = []
        self.statuses: list[int] = []
        self.git("init", "-q", "-b", "main")
        self.write("kept.py", "1")
        self.write("tests/test_old.py", "def test_old(): pass\n")
        self.commit()

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=e@x")
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def near(self, since: str = "", repeat: int = 1) -> int:
        return command.near(self.folder, since, repeat)

    def run(self, _: Path, arguments: list[str]) -> int:
        self.runs.append(tuple(arguments))
        return self.statuses.pop(0) if self.statuses else 0


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Clone:
    made = Clone(tmp_path)

    class Known:
        def __init__(self, root: Path) -> None:
            assert root == tmp_path

        def near(self, changed):
            kept = {"a.py": ("tests/test_a.py",), "b.py": ("tests/test_a.py", "tests/test_b.py")}
            own = {one: (one,) for one in changed if "test_" in one}
            of = kept | own
            return [
                Near(one, ("tests/test_f.py",), only=one[2:])
                if one.startswith("f-")
                else Near(one, ("tests/test_a.py",), own=False)
                if one == "folder.py"
                else Near(one, of.get(one, ()))
                for one in changed
            ]

    monkeypatch.setattr(command, "Suite", Known)
    monkeypatch.setattr(command, "_run", made.run)
    return made


def test_what_is_committed_changed_and_new_on_the_branch_is_tested_in_one_run(clone, capsys):
    clone.git("switch", "-qc", "work")
    clone.write("a.py", "1")
    clone.commit()
    clone.write("b.py", "1")
    assert clone.near() == 0
    assert clone.runs == [("tests/test_a.py", "tests/test_b.py")]
    assert "a.py: tests/test_a.py\n" in capsys.readouterr().out


def test_findings_are_chosen_by_their_ids_in_a_run_of_their_own(clone):
    for name in ("a.py", "f-one", "f-two"):
        clone.write(name, "1")
    assert clone.near() == 0
    assert clone.runs == [("tests/test_a.py",), ("tests/test_f.py", "-k", "one or two")]


def test_a_file_without_a_test_is_named_and_the_status_is_1(clone, capsys):
    clone.write("a.py", "1")
    clone.write("lonely.py", "1")
    assert clone.near() == 1 and len(clone.runs) == 1
    said = capsys.readouterr().out
    assert "lonely.py: NO TEST" in said and "no test knows: lonely.py\n  Next: " in said


def test_a_red_test_is_the_status(clone):
    clone.write("a.py", "1")
    clone.statuses = [3]
    assert clone.near() == 3


def test_where_nothing_has_changed_that_is_said(clone):
    with pytest.raises(UserError, match="nothing has changed since"):
        clone.near()


def test_what_is_gone_had_tests_too(clone, capsys):
    clone.git("rm", "-q", "kept.py")
    assert clone.near() == 1 and "kept.py: NO TEST" in capsys.readouterr().out


def test_a_new_file_that_only_its_folder_knows_is_named(clone, capsys):
    clone.write("folder.py", "1")
    assert clone.near() == 1 and clone.runs == [("tests/test_a.py",)]
    assert "no test knows: folder.py" in capsys.readouterr().out


def test_without_a_main_the_commit_must_be_named(clone):
    clone.git("branch", "-m", "trunk")
    with pytest.raises(UserError, match="there is no branch main here"):
        clone.near()


def test_an_older_commit_can_be_named_and_a_wrong_one_is_told(clone):
    clone.write("a.py", "1")
    clone.commit()
    assert clone.near(since="HEAD~1") == 0 and clone.runs == [("tests/test_a.py",)]
    with pytest.raises(UserError, match="--since nowhere: is no commit here"):
        clone.near(since="nowhere")


def test_new_tests_are_run_again_and_again_until_one_is_red(clone):
    clone.write("tests/test_old.py", "def test_old(): pass\n\n\ndef test_added(): pass\n")
    clone.write("tests/test_new.py", "def test_new(): pass\n")
    clone.statuses = [0, 0, 1]
    assert clone.near(repeat=20) == 1
    assert clone.runs[0] == ("tests/test_new.py", "tests/test_old.py")
    assert clone.runs[1:] == [("tests/test_old.py::test_added", "tests/test_new.py")] * 2


def test_where_no_test_is_new_there_is_nothing_to_repeat(clone, capsys):
    clone.write("a.py", "1")
    assert clone.near(repeat=3) == 0 and len(clone.runs) == 1
    assert "no test is new" in capsys.readouterr().out
    with pytest.raises(UserError, match="--repeat 0: is no number of times"):
        clone.near(repeat=0)


@pytest.mark.parametrize(
    "options",
    [{"near": True, "full": True}, {"near": True, "select": "x"}, {"repeat": 2}, {"since": "HEAD"}],
)
def test_options_that_do_not_go_together_are_refused(options, capsys):
    with pytest.raises(SystemExit) as ended:
        run_tests(**options)
    assert ended.value.code == 1 and "Next: " in capsys.readouterr().err

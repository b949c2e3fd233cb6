"""``redial rollback --from``: the way back to files of a folder, or of a commit, by a plan."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from redial.cli.deploy import deploy, verify
from redial.cli.history import history, rollback
from redial.paths import GENERATED

from .conftest import another_revision, killed_at, run, status_of, summed

pytestmark = pytest.mark.driver
ERROR, CHANGES, BLOCKED = 1, 2, 3
TEXT = "SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_LogError'));"
STAYS = "What stays: tables, their columns and their rows\n"


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *who, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(project) -> Path:
    """The project as a repository: v1 is what the site has, v2 another revision of a procedure."""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    git(project, "tag", "v1")
    another_revision(project / "sql" / "generated" / "audit", "usp_LogError")
    git(project, "commit", "-q", "-a", "-m", "two")
    git(project, "tag", "v2")
    return project


@pytest.fixture
def later(site, repository):
    """The site with v2 on it, nothing of v1 kept in the database, and rows in a table."""
    folder = str(repository / "sql" / "generated" / "audit")
    assert status_of(deploy, server=site.server, from_folder=folder) == 0
    run(site.server, "DELETE FROM audit.DeploymentText WHERE ContentHash <> REPLICATE('ab', 32);")
    run(
        site.server,
        "ALTER TABLE audit.DeadLetter ADD Ticket int NULL; "
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
        "VALUES (N'target', NEWID(), 7);",
    )
    assert "/* later */" in run(site.server, TEXT)[0][0]
    return site


def rows_stay(server: str) -> bool:
    """The table, the column and the row of somebody's are there."""
    return run(server, "SELECT COUNT(*), COUNT(Ticket) FROM audit.DeadLetter;") == [(1, 0)]


@pytest.mark.parametrize("source", ["v1", "a rendered folder", "another checkout"])
def test_texts_go_back_and_tables_do_not(later, repository, tmp_path, source, capsys):
    if source == "a rendered folder":
        source = str(GENERATED / "audit")
    elif source == "another checkout":
        source = str(tmp_path / "checkout")
        git(repository, "worktree", "add", "-q", source, "v1")
    # 1. without --yes it is only planned, and said what stays
    assert status_of(rollback, server=later.server, from_source=source) == CHANGES
    said = capsys.readouterr().out
    assert (
        "-    SET NOCOUNT ON; /* later */" in said and "Next: the same command with --yes" in said
    )
    assert f"back to {'v1 of git, which is v1' if source == 'v1' else f'folder {source}'}\n" in said
    assert said.count(STAYS) == 1 and "/* later */" in run(later.server, TEXT)[0][0]
    # 2. with it the texts have gone back, and the rest has not
    assert status_of(rollback, server=later.server, from_source=source, yes=True) == 1  # the column
    said = capsys.readouterr().out
    assert said.count(STAYS) == 2 and f"gone back to {'v1' if source == 'v1' else 'folder'}" in said
    assert "/* later */" not in run(later.server, TEXT)[0][0] and rows_stay(later.server)
    # 3. it is written down, with the revision it went back to
    [row] = run(
        later.server,
        "SELECT TOP (1) What, Outcome, SourceRevision FROM audit.DeploymentAttempt ORDER BY AttemptId DESC;",
    )
    assert row[:2] == ("rollback", "finished")
    assert row[2] == (
        "v1" if source == "v1" else git(repository, "describe", "--always", "--dirty")
    )
    # 4. again there is nothing to go back to
    assert status_of(rollback, server=later.server, from_source=source) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_the_way_back_to_a_deployment_says_the_revision_it_was_of(
    site, repository, monkeypatch, capsys
):
    monkeypatch.setenv("REDIAL_REVISION", "two")
    folder = str(repository / "sql" / "generated" / "audit")
    assert status_of(deploy, server=site.server, from_folder=folder) == 0
    run(
        site.server,
        "UPDATE audit.DeploymentAttempt SET SourceRevision = N'one' WHERE AttemptId = 1;",
    )
    assert status_of(rollback, server=site.server, yes=True) == 0
    capsys.readouterr()
    assert status_of(history, server=site.server) == 0
    assert ", source one" in capsys.readouterr().out.splitlines()[-1]


def test_what_was_adopted_then_goes_back_with_it(site, project, capsys):
    """A commit holds sql/adopted too: its texts are those that were deployed."""
    from redial.cli.deploy import adopt

    [(text,)] = run(site.server, TEXT)
    run(
        site.server,
        text.replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* hotfix */", 1).replace(
            "CREATE", "ALTER", 1
        ),
    )
    assert status_of(adopt, server=site.server, modules=["usp_LogError"]) == 0
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "hotfix")
    shutil.rmtree(project / "sql" / "adopted")
    assert status_of(deploy, server=site.server, overwrite=True) == 0
    assert "hotfix" not in run(site.server, TEXT)[0][0]
    assert status_of(rollback, server=site.server, from_source="HEAD", yes=True) == 0
    assert "/* hotfix */" in run(site.server, TEXT)[0][0]


def test_a_module_changed_by_hand_is_not_undone_unasked(later, capsys):
    [(text,)] = run(later.server, TEXT.replace("LogError", "StartQueue"))
    run(
        later.server,
        text.replace("SET NOCOUNT ON;", "SET NOCOUNT ON; /* hand */", 1).replace(
            "CREATE", "ALTER", 1
        ),
    )
    assert status_of(rollback, server=later.server, from_source="v1", yes=True) == BLOCKED
    assert "usp_StartQueue in site was changed by hand" in capsys.readouterr().out
    assert "/* later */" in run(later.server, TEXT)[0][0]
    options = {"server": later.server, "from_source": "v1", "yes": True, "overwrite": True}
    assert status_of(rollback, **options) == 1  # the column
    assert "/* hand */" not in run(later.server, TEXT.replace("LogError", "StartQueue"))[0][0]


def test_what_somebody_has_switched_off_goes_back_with_undo_only(later, capsys):
    run(later.server, "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    options = {"server": later.server, "from_source": "v1", "yes": True}
    off = "SELECT COUNT(*) FROM sys.service_queues WHERE is_receive_enabled = 0;"
    for undo, left in ((False, 1), (True, 0)):
        assert status_of(rollback, **options, undo=undo) == 1  # the column
        assert run(later.server, off) == [(left,)]


PLACES = ["_usp_LogError", "90_deployment"]
"""Files at which the process is killed: one that changes, and the last."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("next_one", ["the same way", "a deployment"])
def test_a_process_that_was_killed_on_the_way_back_leaves_nothing_half_done(
    site, repository, place, next_one, capsys
):
    folder = str(repository / "sql" / "generated" / "audit")
    assert status_of(deploy, server=site.server, from_folder=folder) == 0
    # 1. killed
    way = ["rollback", "--config", "audit", "--from", "v1", "--yes", "--server", site.server]
    assert killed_at(way, place, repository) == -signal.SIGKILL
    # 2. what comes next ends as if it had not been
    if next_one == "a deployment":
        assert status_of(deploy, server=site.server, from_folder=folder) == 0
        assert status_of(verify, server=site.server, from_folder=folder) == 0
        assert "/* later */" in run(site.server, TEXT)[0][0]
    else:
        assert status_of(rollback, server=site.server, from_source="v1", yes=True) == 0
        assert "/* later */" not in run(site.server, TEXT)[0][0]
    capsys.readouterr()
    # 3. and it is known
    assert status_of(history, server=site.server) == 0
    assert "rollback abandoned" in capsys.readouterr().out


# --- bad input -------------------------------------------------------------------------------------------


def refused(site, source: str, capsys) -> str:
    """What is said of a source, before anything is done."""
    assert status_of(rollback, server=site.server, from_source=source, yes=True) == ERROR
    out, said = capsys.readouterr()
    assert "Next: " in said and "back to" not in out, said
    assert run(site.server, "SELECT COUNT(*) FROM audit.DeploymentAttempt;") == [(1,)]
    return said


def test_a_name_that_is_no_folder_and_no_commit_is_named(site, repository, capsys):
    said = refused(site, "v9", capsys)
    assert "--from v9: there is no such folder, and git knows no such commit, tag or branch" in said
    assert "--from: is empty" in refused(site, " ", capsys)
    assert "--from --exec: begins with a dash" in refused(site, "--exec", capsys)
    file = str(repository / "tasks")
    Path(file).write_text("x")
    assert "is a file" in refused(site, file, capsys)


def test_without_git_or_a_repository_it_is_said(site, project, monkeypatch, capsys):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    said = refused(site, "v1", capsys)
    assert f"there is no such folder; and git knows no repository at {project}" in said
    monkeypatch.setenv("PATH", str(project))
    assert "git, which might know the name, is not installed" in refused(site, "v1", capsys)


def test_a_folder_of_another_configuration_is_named(site, project, capsys):
    said = refused(site, str(GENERATED / "etl"), capsys)
    assert "holds the files of another configuration than audit" in said


def test_files_that_are_not_what_their_digests_say_are_named(site, repository, capsys):
    folder = repository / "sql" / "generated" / "audit"
    text = (folder / "1_core.sql").read_text()
    (folder / "1_core.sql").write_text(text + "-- more\n")
    assert "1_core.sql was changed after it was rendered" in refused(site, str(folder), capsys)
    git(repository, "commit", "-q", "-a", "-m", "bad")
    said = refused(site, "HEAD", capsys)
    assert "--from HEAD: sql/generated/audit: 1_core.sql was changed after it was rendered" in said
    for said in (b"x\n", bytes(range(256))):
        (folder / "SHA256SUMS").write_bytes(said)
        assert "it has a SHA256SUMS that cannot be read" in refused(site, str(folder), capsys)
    (folder / "SHA256SUMS").unlink()
    assert "it has no SHA256SUMS" in refused(site, str(folder), capsys)


def test_files_of_another_version_of_redial_are_named(site, repository, capsys):
    folder = repository / "sql" / "generated" / "audit"
    (folder / "CONTENTS").unlink()
    sums = folder / "SHA256SUMS"
    lines = [line for line in sums.read_text().splitlines(True) if "CONTENTS" not in line]
    sums.write_text("".join(lines))
    said = refused(site, str(summed(folder)), capsys)
    assert (
        "has no file with the part 90_deployment.data.sql, or another version of Redial wrote it"
        in said
    )


def test_what_a_commit_lacks_is_named(site, repository, capsys):
    config = repository / "sql" / "configs" / "audit.toml"
    text = config.read_text()
    # 1. a choice that is not known any more
    config.write_text(text + "\n[nothing]\na = 1\n")
    git(repository, "commit", "-q", "-a", "-m", "old key")
    config.write_text(text)
    said = refused(site, "HEAD", capsys)
    assert "--from HEAD: sql/configs/audit.toml: nothing: is not a key" in said
    folder = repository / "sql" / "generated" / "audit"
    shutil.copytree(folder, repository / "kept")
    # 2. no files, no configuration, nothing at all
    git(repository, "rm", "-q", "-r", "-f", "sql/generated/audit")
    git(repository, "commit", "-q", "-a", "-m", "no files")
    shutil.copytree(repository / "kept", folder)
    assert "--from HEAD: has no sql/generated/audit" in refused(site, "HEAD", capsys)
    git(repository, "checkout", "-q", "-f", "v1")
    git(repository, "rm", "-q", "sql/configs/audit.toml")
    git(repository, "commit", "-q", "-a", "-m", "no configuration")
    config.write_text(text)
    assert "--from HEAD: has no sql/configs/audit.toml" in refused(site, "HEAD", capsys)
    git(repository, "rm", "-q", "-r", "--cached", "sql/generated/audit")
    git(repository, "commit", "-q", "-m", "nothing")
    assert "has nothing of configuration audit" in refused(site, "HEAD", capsys)


def test_a_commit_of_another_schema_is_another_installation(site, repository, capsys):
    config = repository / "sql" / "configs" / "audit.toml"
    text = config.read_text()
    config.write_text(text.replace('schema = "audit"', 'schema = "ledger"', 1))
    assert config.read_text() != text
    git(repository, "commit", "-q", "-a", "-m", "moved")
    config.write_text(text)
    assert "the schema was 'ledger' there and is 'audit' today" in refused(site, "HEAD", capsys)


def test_two_ways_at_once_are_none(site, project, capsys):
    assert status_of(rollback, server=site.server, from_source="x", to=1) == ERROR
    assert "--to 1 --from x: are two ways" in capsys.readouterr().err
    assert status_of(verify, server=site.server) == 0


def test_an_empty_database_has_nothing_to_go_back_from(site, repository, capsys):
    assert status_of(rollback, server=site.empty, from_source="v1", yes=True) == ERROR
    said = capsys.readouterr().err
    assert "rollback of audit: nothing of it is in bare" in said and "Next: " in said
    assert run(site.empty, "SELECT SCHEMA_ID(N'audit');") == [(None,)]

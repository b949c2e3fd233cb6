"""``rollback --from``: files of an earlier time, out of a folder or a commit of the project's repository."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from redial.cli.adopting import adopted
from redial.cli.errors import UserError
from redial.cli.installing import read_folder, revision
from redial.config import Config
from redial.config.load import ConfigError, load
from redial.project import Project, project

OPTION = "--from"
GIT_SECONDS = 60
AS_IT_WAS = "name the folder as it was kept, or the commit it was kept with"


@dataclass(frozen=True)
class Older:
    """What there is to go back to."""

    config: Config
    """As it was then, where that is known; else today's."""
    files: dict[str, str]
    what: str
    """What it was taken from, in words."""
    revision: str | None
    """Of the source."""


def older(name: str, today: Config, said: str) -> Older:
    """Files of a rendered folder, of another checkout of the project, or of a commit. Raises UserError.

    said: a folder; what is none is a name that git knows.
    """
    folder = Path(said)
    what = f"{OPTION} {said}"
    if not said.strip():
        raise UserError(OPTION, "is empty", "name a folder, or a commit, tag or branch of git")
    if folder.is_dir():
        words, here = f"folder {said}", revision()
        if (folder / "sql" / "configs").is_dir():
            return _of_project(name, today, folder, what, words, here)
        return Older(today, read_folder(folder, what, today, AS_IT_WAS), words, here)
    if folder.exists():
        raise UserError(what, "is a file", f"name the folder with {folder.name} in it")
    commit = _commit(said, what)
    short = _git("describe", "--always", "--tags", commit).decode().strip()[:100]
    with tempfile.TemporaryDirectory() as root:
        _taken_out(name, commit, Path(root), what)
        words = f"{said} of git, which is {short}"
        return _of_project(name, today, Path(root), what, words, short)


def _of_project(
    name: str, today: Config, root: Path, what: str, words: str, source: str | None
) -> Older:
    """Of a project folder: the configuration as it was, its files, and what was adopted then."""
    place = Project(root)
    file, folder = f"sql/configs/{name}.toml", f"sql/generated/{name}"
    if not (root / file).is_file():
        raise UserError(what, f"has no {file}", AS_IT_WAS)
    if not (root / folder).is_dir():
        raise UserError(what, f"has no {folder}", AS_IT_WAS)
    try:
        config = load(root / file)
    except ConfigError as error:
        raise UserError(
            f"{what}: {file}",
            "; ".join(error.problems),
            "go back with the version of Redial it was written for; or name a folder of rendered files",
        ) from error
    for which, then, now in (
        ("schema", config.schema_name, today.schema_name),
        ("target's database", config.target.database, today.target.database),
    ):
        if then != now:
            raise UserError(
                f"{what}: {file}",
                f"the {which} was {then!r} there and is {now!r} today: that is another installation",
                "deploy that configuration under a name of its own",
            )
    files = read_folder(place.generated / name, f"{what}: {folder}", config, AS_IT_WAS)
    try:
        files = adopted(name, files, root)
    except UserError as error:
        there = Path(error.what).relative_to(root).as_posix()
        raise UserError(f"{what}: {there}", error.why, AS_IT_WAS) from error
    return Older(config, files, words, source)


def _commit(said: str, what: str) -> str:
    """The commit that a name of git stands for. Raises UserError."""
    root = project().root
    if said.startswith("-"):
        raise UserError(
            what, "begins with a dash: it is taken for an option", "name a folder or a commit"
        )
    try:
        inside = _run("rev-parse", "--is-inside-work-tree")
    except FileNotFoundError as error:
        raise UserError(
            what,
            "there is no such folder; and git, which might know the name, is not installed",
            "name a folder, or install git",
        ) from error
    if inside.returncode:
        why = inside.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise UserError(
            what,
            f"there is no such folder; and git knows no repository at {root}: {''.join(why)}",
            "name a folder, or run it in the project's repository",
        )
    found = _run("rev-parse", "--verify", "--quiet", f"{said}^{{commit}}")
    if found.returncode:
        raise UserError(
            what,
            "there is no such folder, and git knows no such commit, tag or branch",
            "git log says them; after a shallow clone: git fetch --unshallow --tags",
        )
    return found.stdout.decode().strip()


def _taken_out(name: str, commit: str, root: Path, what: str) -> None:
    """Write what a commit has of a configuration, byte for byte. Raises UserError."""
    wanted = [f"sql/configs/{name}.toml", f"sql/generated/{name}", f"sql/adopted/{name}"]
    listed = _git("ls-tree", "-r", "-z", "--name-only", commit, "--", *wanted).decode()
    for path in filter(None, listed.split("\0")):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_git("cat-file", "blob", f"{commit}:./{path}"))
    if not listed:
        raise UserError(what, f"has nothing of configuration {name}: no {wanted[0]}", AS_IT_WAS)


def _git(*arguments: str) -> bytes:
    """What git answers. Raises UserError."""
    done = _run(*arguments)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()
        raise UserError(f"git {arguments[0]}", why or f"ended with {done.returncode}", AS_IT_WAS)
    return done.stdout


def _run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """git in the project's folder."""
    return subprocess.run(
        ["git", "-C", str(project().root), *arguments],
        capture_output=True,
        timeout=GIT_SECONDS,
        check=False,
    )

"""``--config NAME``: configurations of the project folder by name, and ``redial render``."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from redial.cli import variables
from redial.cli.errors import UserError, command
from redial.config import Config
from redial.project import Project, project
from redial.render import check, write


def chosen(name: str | None) -> list[str]:
    """That configuration's name, or all. Raises UserError where there are none."""
    here = project()
    if name:
        return [name]
    if not here.names():
        raise _nothing(here)
    return here.names()


def load_named(name: str) -> Config:
    """One config by name; with no name the only one there is.

    Raises UserError for an unknown name, and for none where there are several; ConfigError for a wrong
    file.
    """
    from redial.config import load

    here = project()
    known = here.names()
    if not known:
        raise _nothing(here)
    if not name and len(known) > 1:
        raise UserError(
            "--config",
            f"is missing, and {here.configs} holds {len(known)} configurations",
            f"add --config with one of: {', '.join(known)}",
        )
    if name and name not in known:
        raise UserError(
            f"--config {name}",
            f"there is no such file in {here.configs}",
            f"{meant(name, known)}use one of: {', '.join(known)}"
            + (f"; or add sql/configs/{name}.toml" if name.isidentifier() else ""),
        )
    return load(here.configs / f"{name or known[0]}.toml")


def meant(word: str, known: Iterable[str]) -> str:
    """A question in front of an error's next step, where a known word is near; else nothing."""
    near = get_close_matches(word, known, 1)
    return f"did you mean {near[0]}? Else " if near else ""


def _nothing(here: Project) -> UserError:
    return UserError(
        str(here.configs),
        "there is no configuration in it",
        "redial init makes one; or copy a NAME.toml there",
    )


@command
def render_with_variables(folder: str) -> int:
    """Write the files of the shipped configuration with their name a variable of sqlcmd."""
    for name in variables.write(Path(folder)):
        print(f"{folder}/{name}")
    return 0


@command
def render(config: str | None = None, check_only: bool = False) -> int:
    """Render one config, or all; with ``check_only`` compare and return 1 when stale."""
    stale = 0
    for name in chosen(config):
        model = load_named(name)
        into = project().generated / name
        if not check_only:
            changed = write(model, into)
            print(f"sql/generated/{name}: {len(changed)} files changed")
            continue
        found = check(model, into, tools=True)
        stale += len(found)
        for line in found:
            print(line)
        print(f"sql/generated/{name}: {'stale' if found else 'up to date'}")
    if stale:
        print("  Next: redial render, and commit what it changes")
    if not config and _left_over(project()) and check_only:
        stale += 1
    return 1 if stale else 0


def _left_over(here: Project) -> int:
    """Folders of sql/generated without a configuration: said, and left to their owner."""
    folders = here.generated.iterdir() if here.generated.is_dir() else ()
    names = sorted({path.name for path in folders if path.is_dir()} - {*here.names()})
    for name in names:
        print(
            f"sql/generated/{name}: there is no sql/configs/{name}.toml; remove the folder, or "
            "bring the configuration back"
        )
    return len(names)

"""``redial init``: a project folder to start from."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from redial.cli.errors import UserError, command, quoted
from redial.cli.naming import renamed
from redial.config import load
from redial.project import Project
from redial.render import write
from redial.version import VERSION
from redial.wheel import FILE

FILES = {
    "README.md": "README.md",
    "redial.yml": ".github/workflows/redial.yml",
    "azure-pipelines.yml": "azure-pipelines.yml",
    "requirements.txt": "requirements.txt",
    "gitattributes": ".gitattributes",
    "tasks.py": "tasks.py",
}
"""What is in project_folder beside this file, and where it goes."""

NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@command
def init(folder: str, name: str = "messages") -> None:
    """Make a project folder with one configuration, rendered; never overwrite anything.

    name: of the configuration, and of its schema.
    """
    root = Path(folder)
    if folder.startswith("-"):
        raise UserError(
            f"folder {folder!r}",
            "begins with a dash: it is taken for an option",
            "redial init FOLDER; redial --help init lists the options",
        )
    if not NAME.fullmatch(name):
        raise UserError(
            f"--name {name!r}",
            "is no name of a configuration",
            "pass a lower case letter, then up to 63 of a-z 0-9 _ -",
        )
    texts = {
        target: Template(files("redial.cli").joinpath("project_folder", file).read_text("utf-8"))
        .safe_substitute(name=name, version=VERSION, wheel=FILE)
        .encode()
        for file, target in FILES.items()
    } | {f"sql/configs/{name}.toml": renamed(name).encode()}
    if root.exists() and not root.is_dir():
        raise UserError(folder, "is a file", "name a folder that is empty or not there yet")
    there = [target for target in texts if (root / target).exists()]
    if there:
        raise UserError(
            folder,
            f"has {', '.join(there)} already, and nothing is overwritten",
            "name an empty folder; or add a configuration to sql/configs there",
        )
    for target, text in texts.items():
        path = root / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        print(f"  {path}")
    project = Project(root)
    rendered = write(load(project.configs / f"{name}.toml"), project.generated / name)
    print(f"  {project.generated / name}: {len(rendered)} files")
    print(
        f"Next: cd {quoted(folder)}, look at sql/configs/{name}.toml, "
        f"then redial deploy --config {name} --server embedded"
    )

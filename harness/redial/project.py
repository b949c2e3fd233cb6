"""The user's own work: a folder with ``sql/configs`` and ``sql/generated``, as in a clone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class ProjectMissing(Exception):
    """Neither this folder nor one above holds ``sql/configs``. The text says what to do."""


@dataclass(frozen=True)
class Project:
    """A project folder."""

    root: Path
    """Holds ``sql/configs``."""

    @property
    def configs(self) -> Path:
        """One TOML file for each pair of services."""
        return self.root / "sql" / "configs"

    @property
    def generated(self) -> Path:
        """What is rendered of them, a folder each."""
        return self.root / "sql" / "generated"

    @property
    def accepted(self) -> Path:
        """Differences that stay, each with a reason; it need not be there."""
        return self.root / "sql" / "accepted.toml"

    def names(self) -> list[str]:
        """Names of all configurations, sorted."""
        return sorted(path.stem for path in self.configs.glob("*.toml"))


def project(start: Path | None = None) -> Project:
    """Of the nearest folder, at or above ``start``, that has ``sql/configs``.

    start: the current folder by default. Raises ProjectMissing.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "sql" / "configs").is_dir():
            return Project(folder)
    raise ProjectMissing(
        f"{here}: neither it nor a folder above has sql/configs\n"
        "  Next: redial init DIR makes a project folder; then cd DIR"
    )

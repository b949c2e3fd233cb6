"""Where the public scripts are: the list of sources, a cache outside the repository, their text.

The scripts are never committed. ``sources.toml`` names repository, commit, licence and files.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

SOURCES = Path(__file__).with_name("sources.toml")
CACHE = "REDIAL_PUBLIC_SCRIPTS"
"""Environment variable: the cache directory; ~/.cache/redial/public-scripts without it."""

_FENCE = re.compile(r"^[ \t]*```[ \t]*t?sql[^\n]*\n(.*?)^[ \t]*```", re.I | re.M | re.S)
_CODE = re.compile(r"<pre>\s*<code class=\"[^\"]*lang-sql\">(.*?)</code>", re.DOTALL)
_SCRIPTS = (".sql", ".tsql", ".md")


@dataclass(frozen=True, slots=True)
class ScriptSet:
    """Scripts that belong together, in their order.

    files: paths in the repository, * as in a shell. before: a script of ours that makes what they
    expect to find (a database, objects of a sample database), run first. faults: error number ->
    why a server raises it too. switches: of the broker, where the scripts show which way a server
    goes. expect: query -> its rows at the end, values side by side with a blank between.
    today: the date the virtual clock begins at, for scripts with dates in them.
    """

    repo: str
    name: str
    files: tuple[str, ...]
    before: str = ""
    faults: dict[int, str] = field(default_factory=dict)
    switches: dict[str, object] = field(default_factory=dict)
    expect: dict[str, list[str]] = field(default_factory=dict)
    today: date | None = None

    @property
    def title(self) -> str:
        """Repository and name."""
        return f"{self.repo}: {self.name}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A public repository: owner/name, the commit that was judged, its licence in its own words."""

    repo: str
    commit: str
    licence: str


def read_sources(path: Path = SOURCES) -> tuple[list[Repository], list[ScriptSet]]:
    """The list of sources."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    repositories = [Repository(**entry) for entry in data["repository"]]
    sets = []
    for entry in data["set"]:
        faults = {int(number): why for number, why in entry.get("faults", {}).items()}
        sets.append(
            ScriptSet(
                entry["repo"],
                entry["name"],
                tuple(entry["files"]),
                _before(entry.get("database", ""), entry.get("before", "")),
                faults,
                entry.get("switches", {}),
                entry.get("expect", {}),
                entry.get("today"),
            )
        )
    return repositories, sets


def _before(database: str, script: str) -> str:
    """What makes a database the session's own, then the rest."""
    if not database:
        return script
    return (
        f"CREATE DATABASE [{database}];\nGO\nALTER DATABASE [{database}] SET ENABLE_BROKER;\nGO\n"
        f"USE [{database}];\nGO\n{script}"
    )


def cache_directory() -> Path:
    """Where the fetched repositories are."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "redial" / "public-scripts")


def folder(cache: Path, repo: str) -> Path:
    """The directory of a repository in the cache."""
    return cache / repo.replace("/", "+")


def fetch(repository: Repository, cache: Path) -> None:
    """Bring the judged commit of a repository into the cache, if it is not there.

    Raises CalledProcessError when git cannot.
    """
    target = folder(cache, repository.repo)
    if target.exists():
        return
    target.mkdir(parents=True)
    url = f"https://github.com/{repository.repo}"
    for command in (
        ["git", "init", "-q"],
        ["git", "fetch", "-q", "--depth", "1", url, repository.commit],
        ["git", "checkout", "-q", "FETCH_HEAD"],
    ):
        subprocess.run(command, cwd=target, check=True, timeout=300)


def texts(script_set: ScriptSet, cache: Path) -> list[tuple[str, str]]:
    """(path, text) of every file of a set, in order. Raises FileNotFoundError naming what lacks."""
    base = folder(cache, script_set.repo)
    known = sorted(
        path.relative_to(base).as_posix()
        for path in base.rglob("*")
        if path.suffix.lower() in _SCRIPTS and path.is_file()
    )
    found = []
    for pattern in script_set.files:
        names = [pattern] if pattern in known else [n for n in known if fnmatchcase(n, pattern)]
        if not names:
            raise FileNotFoundError(f"{script_set.repo}: {pattern}")
        found += [(name, _script(base / name)) for name in names]
    return found


def _script(path: Path) -> str:
    text = decode(path.read_bytes())
    return code_blocks(text) if path.suffix == ".md" else text


def decode(data: bytes) -> str:
    """The text of a script file: UTF-16 or UTF-8 by its mark, else UTF-8, else Windows-1252."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def code_blocks(text: str) -> str:
    """The SQL of an article: its code blocks in order, each a batch of its own."""
    blocks = [(m.start(), m.group(1)) for m in _FENCE.finditer(text)]
    blocks += [(m.start(), html.unescape(m.group(1))) for m in _CODE.finditer(text)]
    return "\nGO\n".join(block for _, block in sorted(blocks))

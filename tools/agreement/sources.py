"""The scripts both parsers are given, and the oracle's report on them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ORACLE = ROOT / "tools" / "tsql_oracle.py"
SCRIPTDOM_URL = "https://github.com/microsoft/SqlScriptDOM"
SCRIPTDOM_COMMIT = "b3173816ce5ed9753ecaf08a2ec63836a513f2e3"
"""MIT licence; its test scripts are fetched when needed and never committed."""

SCRIPTDOM_FOLDERS = ("Test/SqlDom/TestScripts", "Test/SqlDom/PhaseOneTestScripts")
_CHUNK = 300
_CONFIGURATIONS = "|".join(path.stem for path in sorted((ROOT / "sql" / "configs").glob("*.toml")))


class OracleMissing(Exception):
    """The oracle's wheels cannot be had on this machine."""


def report(base: Path, files: list[str], *options: str) -> list[dict[str, Any]]:
    """The oracle on every batch of the files (paths below ``base``). Raises OracleMissing."""
    reports: list[dict[str, Any]] = []
    for start in range(0, len(files), _CHUNK):
        command = [sys.executable, str(ORACLE), "--report", *options]
        run = subprocess.run(
            [*command, *files[start : start + _CHUNK]],
            cwd=base,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if run.returncode not in (0, 1):
            raise OracleMissing(run.stderr.strip()[-300:])
        reports += [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return reports


def scripts_below(base: Path) -> list[str]:
    """Every script file below a directory, as paths relative to it."""
    names = (p for p in base.rglob("*") if p.suffix.lower() in (".sql", ".tsql") and p.is_file())
    return sorted(p.relative_to(base).as_posix() for p in names)


def directory(base: Path, *options: str) -> list[dict[str, Any]]:
    """The oracle on all scripts below a directory."""
    return report(base, scripts_below(base), *options)


def own(every: int = 1) -> list[dict[str, Any]]:
    """The oracle on the scripts we ship, each text once: some files of one configuration are
    another's with other names. every: so many-th of them.
    """
    base, seen = ROOT / "sql", set()
    files = []
    for name in scripts_below(base):
        text = _without_names((base / name).read_text(encoding="utf-8"))
        if text not in seen:
            seen.add(text)
            files.append(name)
    return report(base, files[::every])


def _without_names(text: str) -> str:
    """A script without what differs between two configurations of the same choices."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(_CONFIGURATIONS + "|[0-9a-f]{8,}", "name", text, flags=re.I)


def zoo(every: int = 1) -> list[dict[str, Any]]:
    """The oracle on the lines of the zoo, so many-th of each list; a report's file is ``list/line``."""
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        for path in sorted((ROOT / "tests" / "product" / "tsql" / "zoo").glob("*.sql")):
            for number, sql in list(_zoo_lines(path))[::every]:
                (base / f"{path.stem}-{number:04}.sql").write_text(sql, encoding="utf-8")
        return directory(base, "--no-split")


def _zoo_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("--"):
            yield number, line.rsplit(" --> ", 1)[0]


def scriptdom(cache: Path) -> list[dict[str, Any]]:
    """The oracle on the test scripts of its own project, fetched into ``cache``.

    Raises CalledProcessError when git cannot.
    """
    if not cache.exists():
        cache.mkdir(parents=True)
        for command in (
            ["git", "init", "-q"],
            ["git", "fetch", "-q", "--depth", "1", SCRIPTDOM_URL, SCRIPTDOM_COMMIT],
            ["git", "checkout", "-q", "FETCH_HEAD", "--", *SCRIPTDOM_FOLDERS],
        ):
            subprocess.run(command, cwd=cache, check=True, timeout=300)
    base = cache / "Test" / "SqlDom"
    files = [name for name in scripts_below(base) if name.split("/")[0] in _folders()]
    return report(base, files)


def _folders() -> set[str]:
    return {folder.rsplit("/", 1)[1] for folder in SCRIPTDOM_FOLDERS}

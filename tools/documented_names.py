"""Make the list of names that Microsoft documents: `python tools/documented_names.py GIT_DIRECTORY`.

Writes harness/redial_broker/exec/documented.txt from a clone of Microsoft's public documentation
(GitHub, MicrosoftDocs/sql-docs, or one of its translations such as sql-docs.es-es, whose file names
and keywords are the same). Only names are taken: titles and keywords of the pages' headers, and the
option words of three syntax diagrams. tools/documented_later.txt adds names of pages younger than
the clone; its first lines say where they are from.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
LATER = HERE / "documented_later.txt"
TARGET = HERE.parent / "harness/redial_broker/exec/documented.txt"
OBJECTS = "docs/relational-databases"
STATEMENTS = "docs/t-sql/statements"

SECTIONS = {
    "procedures": [f"{OBJECTS}/system-stored-procedures"],
    "views": [
        f"{OBJECTS}/system-catalog-views",
        f"{OBJECTS}/system-dynamic-management-views",
        f"{OBJECTS}/system-compatibility-views",
    ],
    "information_schema": [f"{OBJECTS}/system-information-schema-views"],
    "tables": [f"{OBJECTS}/system-tables", f"{OBJECTS}/system-views"],
    "system functions": [f"{OBJECTS}/system-functions"],
    "functions": ["docs/t-sql/functions"],
    "dbcc": ["docs/t-sql/database-console-commands"],
}
"""Heading in the list -> folders of its pages."""

SYNTAX = {
    "database options": f"{STATEMENTS}/alter-database-transact-sql-set-options.md",
    "scoped configurations": f"{STATEMENTS}/alter-database-scoped-configuration-transact-sql.md",
}
PROCEDURE = re.compile(r"(?:\w+\.)?(?:sp|xp|sysmail)_\w+", re.IGNORECASE)
SYSTEM_PROCEDURES = f"{OBJECTS}/system-stored-procedures/system-stored-procedures-transact-sql.md"
WORDS = re.compile(r"(?:@@|\$)?[A-Za-z]\w*(?:\.\w+)?")
OPTION = re.compile(r"^[\s|{<\[]*([A-Z][A-Z0-9_]{2,})(?= *(?:=|\{|\[|$|ON\b|\())", re.MULTILINE)
INNER_OPTIONS = frozenset(
    [
        "AUTO_CLEANUP",
        "CHANGE_RETENTION",
        "CLEANUP_POLICY",
        "CREATE_INDEX",
        "CREDENTIAL",
        "DATA_FLUSH_INTERVAL_SECONDS",
        "DIRECTORY_NAME",
        "DROP_INDEX",
        "EXECUTION_COUNT",
        "FEDERATED_SERVICE_ACCOUNT",
        "FORCE_LAST_GOOD_PLAN",
        "INTERVAL_LENGTH_MINUTES",
        "MAX_PLANS_PER_QUERY",
        "MAX_STORAGE_SIZE_MB",
        "NON_TRANSACTED_ACCESS",
        "OPERATION_MODE",
        "QUERY_CAPTURE_MODE",
        "QUERY_CAPTURE_POLICY",
        "SIZE_BASED_CLEANUP_MODE",
        "STALE_CAPTURE_POLICY_THRESHOLD",
        "TOTAL_COMPILE_CPU_TIME_MS",
        "TOTAL_EXECUTION_CPU_TIME_MS",
        "WAIT_STATS_CAPTURE_MODE",
    ]
)
"""Options of options."""
VALUES = frozenset(
    [
        "ACTIVAR",
        "ALL",
        "ALLOWED",
        "ALLOW_SNAPSHOT_ISOLATI",
        "ALTER",
        "AUTO",
        "CLEAR",
        "CURRENT",
        "CUSTOM",
        "DATE_CORRELATION_OPTIMIZATI",
        "DEFAULT",
        "DISABLED",
        "FOR",
        "FORCED",
        "FULL",
        "INCREMENTAL",
        "INHERIT",
        "MINUTES",
        "NO_WAIT",
        "OFF",
        "SECONDS",
        "SET",
        "SIMPLE",
        "WITH",
    ]
)
"""Values of options, and what translating the page has left of a word."""
NOT_NAMES = frozenset(
    [
        "CPU_BUSY",
        "CURSOR",
        "cdc",
        "table",
        "DBCC",
        "DBTS",
        "DLLNAME",
        "FETCH_STATUS",
        "FOR",
        "FREE",
        "JSON",
        "NEXT",
        "ODBC",
        "VALUE",
        "VERSION",
        "capture_instance",
        "managed_backup",
        "fn_all_changes",
        "fn_net_changes",
        "with",
    ]
)
"""Words of titles that are no name, or only the beginning of one."""


class Docs:
    """The newest commit of a git directory."""

    def __init__(self, git: Path) -> None:
        self._git = git

    def _run(self, *arguments: str) -> str:
        command = ("git", f"--git-dir={self._git}", *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def commit(self) -> str:
        """Its id and day."""
        return self._run("log", "-1", "--format=%H of %cs").strip()

    def paths(self, folder: str) -> list[str]:
        """The pages in a folder."""
        listed = self._run("ls-tree", "--name-only", "HEAD", f"{folder}/").split()
        return [path for path in listed if path.endswith(".md")]

    def text(self, path: str) -> str:
        """One page."""
        return self._run("show", f"HEAD:{path}")


def header_names(path: str, text: str) -> set[str]:
    """The names in title and keywords of a page that its file name has too."""
    head = text.partition("\n---\n")[0]
    listed = re.search(r"f1_keywords:\s*\n((?:\s*- .*\n)*)", head + "\n")
    title = re.search(r"^title: (.*)$", head, re.MULTILINE)
    texts = [line.strip(" -'\"") for line in (listed.group(1) if listed else "").splitlines()]
    words = re.split(r" \||\(", title.group(1).strip("'\""))[0].split() if title else []
    texts += words if len(words) == 1 or any("_" in word for word in words) else []
    stem = "-" + Path(path).stem.lower() + "-"
    return {
        name
        for name in texts
        if not name.upper().endswith("_TSQL")
        and WORDS.fullmatch(name)
        and f"-{re.sub(r'[._]+', '-', name.strip('@$').lower())}-" in stem
    }


def of_pages(docs: Docs, kind: str, folders: list[str]) -> Iterator[str]:
    """The names of one heading."""
    for path in (path for folder in folders for path in docs.paths(folder)):
        for name in header_names(path, docs.text(path)):
            owner, _, last = name.lower().rpartition(".")
            if kind == "procedures":
                if PROCEDURE.fullmatch(name):
                    yield last if owner in {"", "sys", "dbo"} else f"{owner}.{last}"
            elif kind in {"information_schema", "functions", "dbcc"}:
                yield last.upper()
            elif kind != "views" or owner == "sys" or last.startswith(("dm_", "sys")):
                yield last


def api_procedures(docs: Docs) -> Iterator[str]:
    """Those that only clients call: tables of the page about system stored procedures."""
    for line in docs.text(SYSTEM_PROCEDURES).splitlines():
        found = re.fullmatch(r"\|?\s*(sp_\w+)(?:;\d+)?\s*\|?", line.strip().replace("\\", ""))
        if found:
            yield found.group(1).lower()


def set_options(docs: Docs) -> Iterator[str]:
    """SET X, by title."""
    for path in docs.paths(STATEMENTS):
        if Path(path).name.startswith("set-"):
            found = re.search(r"^title: '?SET ([A-Z_ ]+) \(", docs.text(path), re.MULTILINE)
            if found:
                yield found.group(1)


def syntax_words(text: str) -> Iterator[str]:
    """Words at the beginning of a line of the syntax diagrams, where options stand."""
    for diagram in re.findall(r"```(?:syntaxsql|console)?\s*\n(.*?)```", text, re.DOTALL):
        yield from (word for word in OPTION.findall(diagram) if word not in VALUES | INNER_OPTIONS)


def read(text: str) -> dict[str, set[str]]:
    """The form of both files: [heading], then one name a line; # begins a remark."""
    found: dict[str, set[str]] = {}
    names: set[str] = set()
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), set())
        else:
            names.add(line)
    return found


def collect(docs: Docs) -> dict[str, set[str]]:
    """Heading -> names."""
    found = {kind: set(of_pages(docs, kind, folders)) for kind, folders in SECTIONS.items()}
    found["procedures"].update(api_procedures(docs))
    found["set options"] = set(set_options(docs))
    for kind, path in SYNTAX.items():
        found[kind] = set(syntax_words(docs.text(path)))
    for kind, names in read(LATER.read_text()).items():
        found[kind] |= names
    return {kind: names - NOT_NAMES for kind, names in found.items()}


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("git", type=Path, help="git directory of a clone of the documentation")
    parser.add_argument(
        "--name", default="MicrosoftDocs/sql-docs.es-es", help="what it is a clone of"
    )
    asked = parser.parse_args()
    docs = Docs(asked.git)
    lines = [
        "# Names that Microsoft documents, and nothing but names. Made by tools/documented_names.py",
        f"# from {asked.name} on GitHub, commit {docs.commit()},",
        "# and from tools/documented_later.txt.",
    ]
    for kind, names in collect(docs).items():
        lines += ["", f"[{kind}]", *sorted(names)]
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

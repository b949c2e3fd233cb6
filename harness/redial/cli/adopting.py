"""``redial adopt``: a change that was made by hand becomes part of the reviewed files.

Its text lies in ``sql/adopted/NAME/MODULE.sql`` of the project folder, with the digest of the text it
replaces. ``plan``, ``deploy`` and ``verify`` take it instead, until that text becomes another one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from redial.cli.errors import UserError
from redial.deploy.fingerprint.expressions import module_text
from redial.deploy.fingerprint.repair import STAMP
from redial.deploy.handwork import is_text
from redial.deploy.skipping import module_files
from redial.deploy.verify import Look
from redial.project import project
from redial.tsql import split_batches

RECORD = "90_deployment.data.sql"
"""The file that writes the content hash into DeploymentHistory."""
_HEAD = re.compile(r"-- adopted over ([0-9a-f]{64})[^\n]*\n")
_HASH = re.compile(r"N'([0-9a-f]{64})'")
_SETTINGS = "SET ANSI_NULLS ON;\nSET QUOTED_IDENTIFIER ON;\nGO\n"


def adopted(name: str, files: dict[str, str], root: Path | None = None) -> dict[str, str]:
    """The files of a configuration with what was adopted in them, and another content hash.

    root: another project folder than this one. Raises UserError where a text was adopted over another
    one than is there.
    """
    folder = (root or project().root) / "sql" / "adopted" / name
    found = {path.stem: path for path in sorted(folder.glob("*.sql"))} if folder.is_dir() else {}
    if not found:
        return files
    places = _places(files)
    taken: dict[str, str] = {}
    for module, path in found.items():
        if module not in places:
            raise UserError(
                str(path), "is no procedure, function, view or trigger of ours", "remove it"
            )
        taken[places[module]] = _taken(path, files[places[module]])
    return _with_another_hash(files | taken, taken)


def _taken(path: Path, replaced: str) -> str:
    """The file to send instead of ``replaced``. Raises UserError."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(str(path), f"is not UTF-8: {error}", "redial adopt again") from error
    head = _HEAD.match(text)
    if head is None:
        raise UserError(str(path), "was not written by redial adopt", "redial adopt again")
    if head[1] != digest(replaced):
        raise UserError(
            str(path),
            "was adopted over another text than the one rendered now, which may have the change",
            "look at both; remove this file, or redial adopt again",
        )
    return f"{_SETTINGS}{text[head.end() :].rstrip()}\nGO\n"


def write(name: str, look: Look, module: str, files: Mapping[str, str], from_where: str) -> Path:
    """Write down a module as it is on the server. Raises UserError."""
    what = f"--module {module}"
    found = [one for one in look.differences if is_text(one) and one.thing.name == module]
    if not found:
        raise UserError(what, "is as the files make it, or not there", "redial plan names changes")
    text = found[0].found
    if STAMP not in text:
        raise UserError(
            what,
            "has lost the comment by which a deployment knows it as ours (50208)",
            f"ALTER it once more with a line that begins {STAMP!r} as in the file, then adopt it",
        )
    text = re.sub(r"(?i)\bCREATE\s+", "CREATE OR ALTER ", text, count=1)
    if len(split_batches(text)) != 1:
        raise UserError(what, "holds a line GO, which cuts a script", "take that line out of it")
    folder = project().root / "sql" / "adopted" / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}.sql"
    head = f"-- adopted over {digest(files[_places(files)[module]])} from {from_where}\n"
    path.write_text(head + text + "\n", "utf-8")
    assert module_text(text) == module_text(found[0].found)
    return path


def digest(text: str) -> str:
    """Of a rendered file."""
    return hashlib.sha256(text.encode()).hexdigest()


def _places(files: Mapping[str, str]) -> dict[str, str]:
    """The file of each module."""
    return {
        module: name
        for name in files
        for module in module_files({name.rpartition("/")[2]: ""}).values()
    }


def _with_another_hash(files: dict[str, str], taken: Mapping[str, str]) -> dict[str, str]:
    """So that the history tells these files from the rendered ones."""
    changed = dict(files)
    for name in (name for name in files if name.endswith(RECORD)):
        [old, *_] = _HASH.findall(files[name])
        new = digest(old + "".join(text for _, text in sorted(taken.items())))
        changed[name] = files[name].replace(old, new)
    return changed

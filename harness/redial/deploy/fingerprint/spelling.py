"""Names as the files spell them, where a database takes ``usp_send`` for ``usp_Send``.

Such a database calls both the same object, and no deployment changes how it spells one that is there
(CREATE OR ALTER keeps the name): so it is no difference. Names of the broker's objects are compared byte
for byte everywhere (F-376) and stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from redial.deploy.fingerprint.model import OBJECTS, Catalog
from redial.deploy.fingerprint.queries import Row

_PARTS = ("column", "index", "check")
_OF_THE_SCHEMA = OBJECTS | {"type"}
_MARKED = (1, 6)
"""Classes of extended properties: objects and types (sys.extended_properties)."""
NAMES: dict[str, tuple[str, ...]] = {
    "objects": ("name",),
    "tables": ("name",),
    "types": ("name",),
    "columns": ("owner", "name", "default_name"),
    "checks": ("owner", "name"),
    "foreign keys": ("owner", "to_table"),
    "indexes": ("owner", "name"),
    "statistics": ("owner",),
    "index columns": ("name",),
    "modules": ("name", "parent"),
    "triggers": ("name", "owner"),
    "queues": ("name", "procedure_name"),
    "services": ("queue",),
    "signatures": ("module",),
    "security policies": ("owner",),
    "event notifications": ("queue",),
    "permissions": ("object_name", "column_name"),
}
"""By question, the columns that hold names of what is in the schema, and of its parts."""


def respell(answers: dict[str, list[Row]], files: Catalog) -> None:
    """Spell the names in answers as the files do. files: of a database that does not tell case."""
    known = _known(files)
    for question, columns in NAMES.items():
        for row in answers.get(question, ()):
            for column in columns:
                _respell(row, column, known)
    for row in answers.get("permissions", ()):
        if row["class_desc"] == "TYPE":
            _respell(row, "other_name", known)
    for row in answers.get("marks", ()):
        if row["class"] in _MARKED:
            _respell(row, "name", known)


def _respell(row: Row, column: str, known: dict[str, str]) -> None:
    name = row[column]
    if name is not None:
        row[column] = known.get(name.lower(), name)


def _known(files: Catalog) -> dict[str, str]:
    """The files' spelling by name in small letters; none of a name that they spell in two ways."""
    spelled: dict[str, set[str]] = {}
    for name in _names(files):
        spelled.setdefault(name.lower(), set()).add(name)
    return {small: next(iter(names)) for small, names in spelled.items() if len(names) == 1}


def _names(files: Catalog) -> Iterable[str]:
    for thing, own in files.items():
        if thing.kind in _OF_THE_SCHEMA or thing.kind in _PARTS:
            yield thing.name
        if thing.kind == "column" and own.get("default's name"):
            yield own["default's name"]

"""Known-bad variants of the templates, for tests and searches that must catch them; and other
people's designs, rendered for comparison only (``sql/comparators``). Both are asked for by name.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class MutantError(Exception):
    """A mutant is not there, or no longer fits the templates it changes."""


@dataclass
class Mutant:
    """What a mutant does to the templates: see the head of ``sql/mutants/mutants.toml``.

    ``replace`` maps ``object.kind``, or ``name.inc`` of a part, to (find, with) pairs, applied to
    the template's text.
    """

    name: str
    fault: str
    directories: list[Path] = field(default_factory=list)
    omit: list[str] = field(default_factory=list)
    replace: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def apply(self, object_kind: str, text: str) -> str:
        """The template's text, changed. Raises MutantError when the text to change is not there."""
        for old, new in self.replace.get(object_kind, ()):
            if text.count(old) != 1:
                raise MutantError(
                    f"mutant {self.name!r}: {object_kind} has {text.count(old)} places that read "
                    f"{old.strip()!r}; expected one"
                )
            text = text.replace(old, new)
        return text


def mutant_names(root: Path) -> list[str]:
    """Every mutant of ``root/mutants/mutants.toml``, in its order."""
    return list(_read(root / "mutants" / "mutants.toml"))


def comparator_names(root: Path) -> list[str]:
    """Every design of ``root/comparators/comparators.toml``, in its order."""
    return list(_read(root / "comparators" / "comparators.toml"))


def find_mutant(root: Path, name: str) -> Mutant:
    """One mutant or comparator with what its base does first. Raises MutantError with all names."""
    table = _table(root)
    if name not in table:
        raise MutantError(f"there is no mutant {name!r}; allowed: {', '.join(table)}")
    folder, entry = table[name]
    mutant = find_mutant(root, entry["base"]) if "base" in entry else Mutant(name, "")
    mutant.name, mutant.fault = name, entry["fault"]
    if "templates" in entry:
        mutant.directories.append(folder / entry["templates"])
    mutant.omit += entry.get("omit", [])
    for change in entry.get("replace", []):
        pairs = mutant.replace.setdefault(change["object"], [])
        pairs.append((change["find"], change["with"]))
    return mutant


def _table(root: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Name -> (folder of its templates, entry). Raises MutantError when a file cannot be read."""
    found = {}
    for folder, file in (("mutants", "mutants.toml"), ("comparators", "comparators.toml")):
        for name, entry in _read(root / folder / file).items():
            found[name] = (root / folder, entry)
    return found


def _read(path: Path) -> dict[str, Any]:
    """The file as it is, nothing when there is none. Raises MutantError when it cannot be read."""
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise MutantError(f"{path.name}: {error}") from error

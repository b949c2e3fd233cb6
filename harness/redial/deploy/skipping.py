"""Files a deployment need not send: their one module is there already, word for word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redial.config import Config
from redial.deploy.fingerprint import Difference
from redial.deploy.fingerprint.compare import MISSING
from redial.deploy.verify import Look, files_of_side
from redial.render import sides
from redial.render.modules import MODULES, object_of

_TABLES = frozenset({"table", "column", "type"})
"""Kinds that modules are compiled against: what a view says of its columns is worked out when it is made."""


def unchanged(config: Config, looks: Iterable[Look], files: Mapping[str, str]) -> list[str]:
    """Names of those files. None of a database in which a table or type is another than it was."""
    return [
        here.folder + name
        for one, here in zip(looks, sides(config), strict=True)
        if one.installed and not any(map(_altered, one.differences))
        for name, module in module_files(files_of_side(files, here)).items()
        if _same(one, module)
    ]


def module_files(files: Mapping[str, str]) -> dict[str, str]:
    """Files of one module each, and the module's name."""
    found = {name: object_of(name) for name in files}
    return {name: module for name, (module, kind) in found.items() if kind in MODULES}


def _altered(each: Difference) -> bool:
    """Whether modules that are there may have been made for another table or type."""
    new = each.how == MISSING and each.thing.kind != "column"
    return each.thing.kind in _TABLES and not new


def _same(one: Look, module: str) -> bool:
    """Whether a module is there and as the files make it, in every property."""
    there = any(thing.kind == "module" and thing.name == module for thing in one.found)
    differ = [*one.differences, *one.accepted]
    return there and not any(
        each.thing.kind == "module" and each.thing.name == module for each in differ
    )

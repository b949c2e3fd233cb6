"""Files a deployment need not send: their one module is there already, word for word."""

from __future__ import annotations

from collections.abc import Mapping

from redial.config import Config
from redial.config.choices import Signing
from redial.deploy.actions import EARLIER, LEFT
from redial.deploy.apply import ASKS, installation
from redial.deploy.fingerprint import Difference
from redial.deploy.fingerprint.compare import EXCESS, MISSING
from redial.deploy.fingerprint.repair import by_files
from redial.deploy.fingerprint.statements import made_by_files
from redial.deploy.handwork import LAST, is_text
from redial.deploy.history import content_of
from redial.deploy.plan import Plan
from redial.deploy.verify import Look, files_of_side, home_of
from redial.render import sides
from redial.render.modules import MODULES, object_of

GRANTS = ".grant.sql"
"""How the name of the file ends that gives rights on modules."""
_TABLES = frozenset({"table", "column", "type"})
"""Kinds that modules are compiled against: what a view says of its columns is worked out when it is made."""


def unchanged(config: Config, looks: list[Look], files: Mapping[str, str], plan: Plan) -> list[str]:
    """Names of those files. None of a database in which a table or type is another than it was.

    plan: whether something of an earlier choice is to be dropped. Where the files are those of the last
    deployment, and nothing but modules and rights on them is to be mended, all others are left out too.
    """
    cleans = any(one.why == EARLIER and one.do not in LEFT for one in plan.actions)
    few = None if cleans else _few(config, looks, files)
    if few is not None:
        return [name for name in installation(files) if name not in few]
    return [
        here.folder + name
        for one, here in zip(looks, sides(config), strict=True)
        if one.installed and not any(map(_altered, one.differences))
        for name, module in module_files(files_of_side(files, here)).items()
        if _same(one, module)
    ]


def _few(config: Config, looks: list[Look], files: Mapping[str, str]) -> set[str] | None:
    """Files that are enough; None: they cannot be told from what differs."""
    last = home_of(looks).found.get(LAST, {}).get("content")
    if last != content_of(files, config.schema_name) or not all(one.installed for one in looks):
        return None
    if any(one.others or any(map(made_by_files, one.differences)) for one in looks):
        return None
    owners = {each.thing.kind for one in looks for each in one.differences if each.what == "owner"}
    if owners - {"table", "module"}:
        return None  # another owner takes the rights away, on what is in a schema as well
    signed = config.security.signing == Signing.CERTIFICATE
    found: set[str] = set()
    for one, here in zip(looks, sides(config), strict=True):
        todo = [each for each in one.differences if by_files(each)]
        modules = {each.thing.name for each in todo if each.thing.kind == "module"}
        modules |= {each.thing.name for each in one.differences if is_text(each)}
        if any(map(_of_more_than_a_module, todo)) or (modules and signed):
            return None
        modules |= {thing.name for thing in one.wanted if thing.of in modules}
        own = files_of_side(files, here)
        made = {name for name, module in module_files(own).items() if module in modules}
        rights = bool(todo or owners)
        asked = {name for name in own if name == ASKS or (rights and name.endswith(GRANTS))}
        found |= {here.folder + name for name in made | asked}
    return found


def _of_more_than_a_module(each: Difference) -> bool:
    """Whether more than a module's own file and the grants is needed to mend it."""
    kind, _, of = each.thing
    return each.how == EXCESS or not (
        kind == "module" or (kind == "permission" and of.startswith("OBJECT "))
    )


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

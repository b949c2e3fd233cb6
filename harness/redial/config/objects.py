"""The names that our objects take in a configuration's schema, read off the templates."""

from __future__ import annotations

import re
from functools import cache

from redial.paths import TEMPLATES

_FILE = re.compile(
    r"(?:\d\d_)?(\w+)\.(?:table|procedure|function|view|trigger|type)(?:\.\w+)?\.sql\.j2"
)
_CONSTRAINT = re.compile(r"\bCONSTRAINT \[(\w+)\]")


@cache
def object_names() -> frozenset[str]:
    """Tables, procedures, functions, views, triggers, types and constraints of any configuration.

    Constraints too: SQL Server keeps them in the same schema as the tables, so a queue can't have
    the name of one (2714; sys.objects page). The hook is not among them: a configuration names it.
    """
    found = {"TroubleQueue"}  # of sql/templates/monitor/82_trouble
    for path in TEMPLATES.rglob("*.j2"):
        named = _FILE.fullmatch(path.name)
        if named:
            found.add(named[1])
        found |= set(_CONSTRAINT.findall(path.read_text("utf-8")))
    return frozenset(found)

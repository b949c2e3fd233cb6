"""A deployment that closes no gate replaces procedure after procedure beside live callers: one that was
not replaced yet calls one that was. So what a procedure takes depends on no choice but those that drain.
"""

from __future__ import annotations

import re
from collections import defaultdict

from redial.config import Config
from redial.config.variants import listing
from redial.render import render

DRAINS = re.compile(r"^    \(N'([^']+)', (.*), 1\)[,;]$", re.M)
"""A choice in the guard of changes that drains when it differs: its name and value."""
HEAD = re.compile(r"^CREATE OR ALTER PROCEDURE (\S+)(.*?)^AS$", re.S | re.M)
PARAMETER = re.compile(r"^    (@\w+ [^/\n]*?),?\s*(?:/\*.*)?$", re.M)

Heads = dict[str, tuple[str, ...]]
"""Procedure -> its parameters in order, with type and default."""


def read(config: Config) -> tuple[tuple[tuple[str, str], ...], Heads]:
    """The choices that drain, and what each procedure takes."""
    files = {name: text for name, text in render(config).items() if name[:2].isdigit()}
    guard = next(text for name, text in files.items() if name.startswith("29_"))
    heads = {
        found[1]: tuple(PARAMETER.findall(found[2]))
        for text in files.values()
        for found in HEAD.finditer(text)
    }
    return tuple(DRAINS.findall(guard)), heads


def beside_an_earlier_version(config: Config) -> Config:
    data = config.model_dump(by_alias=True, mode="json")
    data["contract"]["previous"] = ["//combo/earlier"]
    return Config.model_validate(data)


def test_the_parameters_of_a_procedure_differ_only_where_a_change_drains():
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for variant in listing().variants:
        for config in (variant.config, beside_an_earlier_version(variant.config)):
            choices, heads = read(config)
            assert len(choices) > 10 and len(heads) > 20
            for procedure, parameters in heads.items():
                found[choices][procedure][parameters].append(variant.name)
    differ = [
        (procedure, {parameters: names[0] for parameters, names in each.items()})
        for procedures in found.values()
        for procedure, each in procedures.items()
        if len(each) > 1
    ]
    assert differ == []

"""Which local variables can still be read from a program counter on.

The state hash leaves dead locals out: two states that differ only in a value nobody will read are
one state. Conservative: only a plain SET kills a value; everything else that names a variable reads
it; output parameters are read at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redial.tsql import ast

if TYPE_CHECKING:
    from redial_broker.exec.program import Program

_IN_XQUERY = re.compile(r"""sql:variable\(\s*["'](@[^"']+)["']""")


def live_slots(program: Program) -> list[frozenset[int]]:
    """For each program counter, the slots that may be read from there on (backward data flow)."""
    names = {name.lower(): slot for slot, (name, _) in enumerate(program.slots)}
    uses = [_reads_and_kills(info.node, names) for info in program.infos]
    # A trigger's inserted and deleted are read as tables, not as variables.
    images = frozenset(i for i, (name, _) in enumerate(program.slots) if name[0] != "@")
    outputs = frozenset(i for i, p in enumerate(program.parameters) if p.output)
    last = len(program.code) - 1
    live: list[frozenset[int]] = [frozenset()] * len(program.code)
    changed = True
    while changed:
        changed = False
        for pc in range(last, -1, -1):
            reads, kills = uses[pc]
            after = outputs if pc == last else frozenset()
            for target in program.infos[pc].targets or ((pc + 1,) if pc < last else ()):
                after |= live[target]
            handler = program.infos[pc].handler
            before = images | reads | (after - kills)
            if handler is not None:
                before |= live[handler]  # an error may leave before the value is replaced
            if before != live[pc]:
                live[pc] = before
                changed = True
    return live


def _reads_and_kills(
    node: ast.Node | None, names: dict[str, int]
) -> tuple[frozenset[int], frozenset[int]]:
    if node is None:
        return frozenset(), frozenset()
    if isinstance(node, ast.If | ast.While):
        node = node.condition
    if isinstance(node, ast.SetVariable) and node.op == "=":
        kills = frozenset({names[node.variable.name.lower()]})
        return _named(node.value, names), kills
    return _named(node, names), frozenset()


def _named(node: ast.Node, names: dict[str, int]) -> frozenset[int]:
    return frozenset(names[name] for name in ast.noted(node, _variables) if name in names)


def _variables(node: ast.Node) -> set[str]:
    found = set()
    for part in node.walk():
        if isinstance(part, ast.Variable):
            found.add(part.name.lower())
        elif isinstance(part, ast.Literal) and isinstance(part.value, str):
            # sql:variable("@x") of an xml method is a text here.
            found.update(name.lower() for name in _IN_XQUERY.findall(part.value))
    return found

"""The tables of statement compilers: ``compiles`` and ``flow`` register one per node class.

A statement's compiler returns ``run(session, variables)``; a flow-of-control node is laid out as code by its
function. Importing ``exec.statements`` fills both tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial.tsql import ast
    from redial_broker.exec.compiler import ProgramCompiler
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

Run = Callable[["SessionState", list[Any]], int | None]
Compile = Callable[[Any, "Context"], Run]
Flow = Callable[["ProgramCompiler", Any], None]


@dataclass(frozen=True, slots=True)
class Registration:
    """How a statement kind is compiled."""

    compile: Compile
    shared: bool
    """Others can see it."""
    work: bool
    """It needs a transaction."""
    lazy: bool
    """Compiled at first execution."""


REGISTRY: dict[type, Registration] = {}


def compiles(
    *nodes: type, shared: bool = True, work: bool | None = None, lazy: bool | None = None
) -> Callable[[Compile], Compile]:
    """Register the compiler of one or more statement classes.

    shared: the statement reads or changes what other sessions can see. work (default: like shared):
    it runs in a transaction, an autocommit one if need be. lazy (default: like shared): it is
    compiled when it is first executed.
    """

    def register(function: Compile) -> Compile:
        entry = Registration(
            function,
            shared,
            shared if work is None else work,
            shared if lazy is None else lazy,
        )
        for node in nodes:
            REGISTRY[node] = entry
        return function

    return register


FLOW: dict[type, Flow] = {}


def flow(*nodes: type) -> Callable[[Flow], Flow]:
    """Register how a flow-of-control node is laid out."""

    def register(function: Flow) -> Flow:
        for node in nodes:
            FLOW[node] = function
        return function

    return register


def describe(node: ast.Node) -> str:
    """A statement kind as a DBA would name it: CreateServerRole -> CREATE SERVER ROLE."""
    words: list[str] = []
    for letter in type(node).__name__:
        if letter.isupper() or not words:
            words.append(letter)
        else:
            words[-1] += letter
    return " ".join(words).upper()

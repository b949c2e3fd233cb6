"""Configs and templates to ``sql/generated``: deterministic, committed, checked."""

from harness.render.files import check, write
from harness.render.mutants import Mutant, comparator_names, find_mutant, mutant_names
from harness.render.renderer import RenderError, render, signed_modules
from harness.render.sides import Side, sides

__all__ = [
    "Mutant",
    "RenderError",
    "Side",
    "check",
    "comparator_names",
    "find_mutant",
    "mutant_names",
    "render",
    "sides",
    "signed_modules",
    "write",
]

"""Configs and templates to ``sql/generated``: deterministic, committed, checked."""

from redial.render.files import LineEnds, check, read, write
from redial.render.mutants import Mutant, comparator_names, find_mutant, mutant_names
from redial.render.renderer import RenderError, render, signed_modules
from redial.render.sides import Side, sides, signer_prefix

__all__ = [
    "LineEnds",
    "Mutant",
    "RenderError",
    "Side",
    "check",
    "comparator_names",
    "find_mutant",
    "mutant_names",
    "read",
    "render",
    "sides",
    "signed_modules",
    "signer_prefix",
    "write",
]

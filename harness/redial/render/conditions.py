"""Conditions in the heads of templates: ``{# when: c.conversation.encryption #}``."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import Environment, StrictUndefined
from jinja2.environment import TemplateExpression


@lru_cache(maxsize=256)
def condition(text: str) -> TemplateExpression:
    """Compiled once per process; it is called with what an environment's templates see."""
    return Environment(undefined=StrictUndefined).compile_expression(text, False)

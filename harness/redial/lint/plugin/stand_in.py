"""Values for a template that no shipped configuration installs, so that it is linted too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import Environment

from redial.config import Config
from redial.config.choices import Delivery, Key, Order, Processing, Recycle, Signing
from redial.config.keys import every_key, keys_with
from redial.render.renderer import WHEN, new_environment
from redial.render.sides import sides

CHANGES: tuple[dict[str, dict[str, Any]], ...] = (
    {},
    {"target": {"database": "Warehouse"}},
    {"target": {"database": "Warehouse"}, "conversation": {"encryption": True}},
    {"security": {"signing": Signing.CERTIFICATE}},
    {
        "conversation": {
            "key": Key(keys_with("named")[0]),
            "recycle": Recycle.AGED_OUT,
            "order": Order.KEY,
            "delivery": Delivery.EXACTLY_ONCE,
        },
        "target": {"processing": Processing.HOOK},
        "operations": {"agent_job": True, "alert_queue_off": True},
    },
    *({"conversation": {"key": key}} for key in Key if every_key()[key].has_rows),
    *(
        {"conversation": {"key": key, "recycle": Recycle.NEVER}}
        for key in Key
        if not every_key()[key].has_rows
    ),
)
"""What is tried, in order: values to set, by table of the configuration."""


def environment_for(template: str, config: Config) -> Environment | None:
    """The first environment in which the template's first line (``WHEN``) holds; None: in none."""
    condition = WHEN.match(template)
    for environment in _environments(config):
        if condition is None or environment.compile_expression(condition[1], False)():
            return environment
    return None


def _environments(config: Config) -> Iterator[Environment]:
    for change in CHANGES:
        tables = {
            name: getattr(config, name).model_copy(update=values) for name, values in change.items()
        }
        changed = config.model_copy(update=tables)
        for here in reversed(sides(changed)):
            yield new_environment(changed, here)

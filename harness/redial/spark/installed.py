"""What the audit has to know of a configuration: from its file, or from the server that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redial.config import Config
from redial.config.choices import Delivery, Order, Processing
from redial.quoting import quote_name
from redial.spark.errors import PipelineError

SETTINGS = (
    "contract.end_of_stream",
    "conversation.delivery",
    "conversation.order",
    "target.processing",
)
"""Rows of the table Setting, which a deployment writes last."""


@dataclass(frozen=True)
class Installed:
    """A configuration, as far as the audit is concerned."""

    schema: str
    end_of_stream: str
    """The message type that closes a conversation."""
    exactly_once: bool = False
    """The target drops repeats, and Inbox counts them."""
    by_key: bool = False
    """Messages are numbered within their keys."""
    by_hook: bool = False
    """A hook has the messages, so Landing has none."""

    @classmethod
    def of(cls, config: Config) -> Installed:
        """What its file says."""
        return cls(
            config.schema_name,
            config.contract.end_of_stream,
            config.conversation.delivery == Delivery.EXACTLY_ONCE,
            config.conversation.order == Order.KEY,
            config.target.processing == Processing.HOOK,
        )


def on_server(schema: str, ask: Callable[[str], list[Any]]) -> Installed:
    """What the last deployment of that schema wrote down, so that nobody needs its file.

    ask: the rows of a query. Raises PipelineError when there is no such deployment.
    """
    table = f"{quote_name(schema)}.[Setting]"
    found = dict(ask(f"SELECT st.Name, st.Value FROM {table} AS st;"))
    missing = [name for name in SETTINGS if not found.get(name)]
    if missing:
        raise PipelineError(
            table,
            f"does not say {', '.join(missing)}: a deployment stopped on its way, or is an older one",
            "deploy the configuration again, or --config with its file instead of --schema",
        )
    closes, delivery, order, processing = (found[name] for name in SETTINGS)
    return Installed(
        schema,
        closes,
        delivery == Delivery.EXACTLY_ONCE,
        order == Order.KEY,
        processing == Processing.HOOK,
    )

"""The embedded broker: a deterministic SQL Server stand-in that real drivers connect to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial_broker.tds.embedded import EmbeddedBroker

__all__ = ["EmbeddedBroker"]


def __getattr__(name: str) -> Any:
    """``EmbeddedBroker`` on first use: the engine alone must not load asyncio, TLS and ODBC."""
    if name == "EmbeddedBroker":
        from redial_broker.tds.embedded import EmbeddedBroker

        return EmbeddedBroker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

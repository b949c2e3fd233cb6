"""``invoke X`` is ``redial X``."""

from redial.cli.main import namespace

__all__ = ["namespace"]

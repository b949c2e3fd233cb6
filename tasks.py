"""``invoke X`` is ``redial X``; every command is defined in redial.cli.commands."""

from redial.cli.main import namespace

__all__ = ["namespace"]

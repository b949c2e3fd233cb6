"""sqlfluff plugin: the Service Broker grammar for its tsql dialect, and our rules as its rules.

sqlfluff finds it by the entry point ``sqlfluff`` of the installed package; ``register`` does the
same from a bare clone. Whatever fails while a plugin is imported is only logged by sqlfluff, which
then goes on with its own grammar: ``grammar.installed`` tells.
"""

from __future__ import annotations

from typing import Any

from pluggy import HookimplMarker
from sqlfluff.core.plugin import plugin_base_name

from redial.lint.plugin import grammar

hookimpl = HookimplMarker(plugin_base_name)
"""sqlfluff's own is declared as a decorator without options."""

grammar.install()


@hookimpl(trylast=True)  # the last answer wins over sqlfluff's own "auto"
def load_default_config() -> dict[str, Any]:
    """The Rust parser has its tables compiled in and would not know our grammar."""
    return {"core": {"use_rust_parser": False}}


@hookimpl
def get_rules() -> list[type]:
    """SB01 and the others."""
    from redial.lint.plugin.rules import classes

    return classes()


@hookimpl
def get_configs_info() -> dict[str, Any]:
    """No options of ours."""
    return {}


@hookimpl
def get_templaters() -> list[type]:
    """``templater = redial``: templates as the package renders them."""
    from redial.lint.plugin.templater import RedialTemplater

    return [RedialTemplater]


def register() -> None:
    """Make sqlfluff use this module, unless it has found it by itself."""
    import sys

    from sqlfluff.core.plugin.host import get_plugin_manager

    manager = get_plugin_manager()
    module = sys.modules[__name__]
    if not manager.is_registered(module):
        manager.register(module, name="redial")

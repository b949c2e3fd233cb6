"""The shipped configuration under another name."""

from __future__ import annotations

import re

from redial.paths import CONFIGS
from redial.version import VERSION

SHIPPED = "audit"
"""The configuration a new one is a copy of: every key stands in it with its meaning."""


def renamed(name: str) -> str:
    """The shipped configuration under another name: its own schema, services and contract."""
    text = (CONFIGS / f"{SHIPPED}.toml").read_text("utf-8")
    text = re.sub(rf'^(name|schema) = "{SHIPPED}"', rf'\1 = "{name}"', text, flags=re.M)
    text = text.replace(f"//redial/{SHIPPED}/", f"//redial/{name}/").replace(
        f'"{SHIPPED}_', f'"{name}_'
    )
    return re.sub(
        r"\A(?:#.*\n)+",
        f"# Made by redial init from {SHIPPED}.toml.\n"
        "# Every key is checked; `redial render` names each wrong one with its rule and the allowed\n"
        f'# values.\n\nredial = "{VERSION}"                    # the version this file was written for\n',
        text,
    )

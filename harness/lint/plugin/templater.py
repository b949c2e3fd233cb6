"""``templater = redial``: sqlfluff renders a template as the package itself does.

Section ``[sqlfluff:templater:redial]``, key ``config``: which file of sql/configs.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, FileSystemLoader
from sqlfluff.core.config import FluffConfig
from sqlfluff.core.templaters.jinja import JinjaTemplater

from harness.config import load
from harness.render.renderer import SQL, new_environment

CONTENT_HASH = "0" * 64
"""Stands for the hash of the installation, which a single template cannot know."""


class RedialTemplater(JinjaTemplater):
    """sqlfluff's jinja templater with our filters and one configuration's values."""

    name = "redial"
    config_subsection = ("fluffconfig", "redial")

    def _get_jinja_env(self, config: FluffConfig | None = None) -> Environment:
        environment = super()._get_jinja_env(config)
        ours = new_environment(load(self._config_file(config)))
        environment.loader = FileSystemLoader(SQL / "templates")   # for parts (.inc.j2)
        environment.filters.update(ours.filters)
        environment.globals.update(ours.globals)
        environment.globals["installed"] = frozenset(
            ".".join(re.sub(r"^\d\d_", "", path.name).split(".")[:2])
            for path in (SQL / "templates").glob("*/*.sql.j2"))
        environment.globals["known"] = environment.globals["installed"]
        return environment

    def _get_env_context(
        self, fname: str | None, config: FluffConfig | None, env: Environment
    ) -> dict[str, Any]:
        context = super()._get_env_context(fname, config, env)
        return context | env.globals | {"content_hash": CONTENT_HASH}

    def _config_file(self, config: FluffConfig | None) -> Any:
        key = (self.templater_selector, self.name, "config")
        chosen = config.get_section(key) if config else None
        return SQL / "configs" / f"{chosen or 'audit'}.toml"

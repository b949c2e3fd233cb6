"""``templater = redial``: sqlfluff renders a template as the package itself does.

Section ``[sqlfluff:templater:redial]``, key ``config``: which file of sql/configs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from sqlfluff.core.config import FluffConfig
from sqlfluff.core.templaters.jinja import JinjaTemplater

from redial.config import load
from redial.lint.plugin.stand_in import environment_for
from redial.paths import CONFIGS, TEMPLATES, template_folders
from redial.render.renderer import new_environment

CONTENT_HASH = "0" * 64
"""Stands for the hash of the installation, which a single template cannot know."""
SCANNED = ("installed", "known", "of_core", "migrations", "last_migration")
"""What a template is told of all the others."""


class RedialTemplater(JinjaTemplater):
    """sqlfluff's jinja templater with our filters and one configuration's values."""

    name = "redial"
    config_subsection = ("fluffconfig", "redial")

    def _get_jinja_env(self, config: FluffConfig | None = None) -> Environment:
        environment = super()._get_jinja_env(config)
        ours = new_environment(load(self._config_file(config)))
        environment.loader = FileSystemLoader(template_folders(TEMPLATES))  # for parts (.inc.j2)
        environment.filters.update(ours.filters)
        environment.globals.update(ours.globals)
        environment.globals["installed"] = frozenset(
            ".".join(re.sub(r"^\d\d_", "", path.name).split(".")[:2])
            for path in TEMPLATES.rglob("*.sql.j2")
        )
        for name in ("known", "of_core"):
            environment.globals[name] = environment.globals["installed"]
        environment.globals.update(migrations=1, last_migration=1)
        return environment

    def _get_env_context(
        self, fname: str | None, config: FluffConfig | None, env: Environment
    ) -> dict[str, Any]:
        context = super()._get_env_context(fname, config, env)
        path = Path(fname or "")
        template = path.read_text(encoding="utf-8") if path.is_file() else ""
        stand_in = environment_for(template, load(self._config_file(config)))
        names = {name: env.globals[name] for name in SCANNED}
        values = stand_in.globals if stand_in else {}
        values.update(names)  # what stands in the register is rendered with these, too
        return context | env.globals | values | {"content_hash": CONTENT_HASH}

    def _config_file(self, config: FluffConfig | None) -> Path:
        key = (self.templater_selector, self.name, "config")
        chosen = config.get_section(key) if config else None
        return CONFIGS / f"{chosen or 'audit'}.toml"

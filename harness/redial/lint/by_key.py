"""What the parts of keys render to, for a look at their style.

sqlfluff looks at the text that stands in a template itself and passes over what a macro puts there.
So what asks for parts (``per_key``) is rendered with each key, and looked at as plain T-SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redial.config import Config, load
from redial.config.keys import BASES, FOLDER, SUFFIX, every_key
from redial.lint import clean
from redial.paths import CONFIGS, TEMPLATES
from redial.render import render
from redial.render.findings import FINDINGS, LOOKS
from redial.render.renderer import output_of

ASKS = b"per_key."
REGISTER = TEMPLATES / "monitor" / "71_register" / "vw_Findings.view.sql.j2"
"""Holds what the files of findings and looks render to."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A file as one key renders it."""

    key: str
    name: str
    text: str


def rendered_by_key() -> list[Rendered]:
    """The files that ask for parts, with each key: as many as show every line of the parts that is
    T-SQL and nothing else. Raises RenderError.

    The first key is rendered with plain choices, the others with those that have texts in the parts.
    """
    asking = {
        output_of(REGISTER if path.parent.name in (FINDINGS, LOOKS) else path)
        for path in TEMPLATES.rglob("*.sql.j2")
        if any(ASKS in text for text in clean.with_parts(path))
    }
    left = lines_of_parts()
    found: list[Rendered] = []
    for place, key in enumerate(every_key()):
        for name, text in render(_config(key, rich=place > 0)).items():
            shown = {line for line in left if name in asking and line in text}
            if shown:
                found.append(Rendered(key, name, text))
                left -= shown
    return found


def lines_of_parts() -> set[str]:
    """Lines without Jinja in the files of the keys and their bases, but the comments these begin with."""
    files = [path for folder in (FOLDER, BASES) for path in TEMPLATES.glob(f"{folder}/*{SUFFIX}")]
    bodies = [path.read_text("utf-8").partition("#}\n")[2] for path in files]
    lines = {line.strip() for body in bodies for line in body.split("\n")} - {""}
    return {line for line in lines if not re.search(r"\{[{%#]|[%#}]\}", line)}


def _config(key: str, *, rich: bool) -> Config:
    """The audit configuration with this key."""
    data = load(CONFIGS / "audit.toml").model_dump(by_alias=True, mode="json")
    traits = every_key()[key]
    chosen = data["conversation"] | {"key": key}
    chosen["recycle"] = "never" if not traits.has_rows else "aged_out" if rich else "timer"
    if rich and traits.has_rows:
        data["contract"]["previous"] = ["//redial/audit/earlier"]
    if rich and traits.row_of_one_key:
        chosen["order"] = "key"
    return Config.model_validate(data | {"conversation": chosen})

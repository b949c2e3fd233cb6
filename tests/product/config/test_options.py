"""Every option of a configuration is explained in audit.toml, read, and given another value by a test."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from redial.config import Config
from redial.config.choices import AVAILABLE, LookupHint, TimerStrategy
from redial.config.sections import Section
from redial.config.variants import listing
from redial.paths import CONFIGS, ROOT, TEMPLATES

NO_DEFAULT = {
    "target.database",
    "comparison.lookup_hint",
    "modules.retention",
    "landing.filegroup",
}
"""Not in audit.toml: the defaults of three are another's or the server's, one is for comparison only."""
COMPARED = (TimerStrategy, LookupHint)
"""Choices all but one of whose words are for comparison only: docs/comparators.md has them."""


def options() -> Iterator[tuple[str, str, Any]]:
    """(section, option, annotation) of the model."""
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            for option, inner in kind.model_fields.items():
                yield name, option, inner.annotation


def unexplained(text: str) -> list[str]:
    """Options that audit.toml lacks, and words of choices that no comment of it names."""
    there = tomllib.loads(text)
    found = []
    for section, option, kind in options():
        if f"{section}.{option}" in NO_DEFAULT:
            continue
        if option not in there.get(section, {}):
            found.append(f"{section}.{option}")
        elif isinstance(kind, type) and issubclass(kind, StrEnum) and kind not in COMPARED:
            block = text.split(f"\n[{section}]")[1]
            lines = re.search(rf"^{option} = .*\n(?:\s+#.*\n)*", block, re.M)
            assert lines is not None
            known = set(re.findall(r"\w+", lines[0]))
            found += [f"{section}.{option} = {word}" for word in kind if word not in known]
    return found


def test_audit_toml_explains_every_option():
    assert unexplained((CONFIGS / "audit.toml").read_text("utf-8")) == [], "invoke pages, or write"


def test_an_option_that_audit_toml_leaves_out_is_found():
    text = (CONFIGS / "audit.toml").read_text("utf-8")
    without = re.sub(r"^landing_days = .*\n", "", text, flags=re.M)
    assert unexplained(without) == ["retention.landing_days"]


def test_every_option_is_read():
    files = [*TEMPLATES.rglob("*.j2"), *(ROOT / "harness" / "redial").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in files)
    assert [
        f"{section}.{option}"
        for section, option, _ in options()
        if not re.search(
            rf"\b(?:c|self|config)\.{section}\.{option}\b|\b(chosen|aged|timer)\.{option}\b", text
        )
        and not (section == "modules" and (TEMPLATES / option).is_dir())
    ] == []


def test_every_option_has_another_value_in_a_test():
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "test_options.py"]
    tests = "\n".join(path.read_text("utf-8") for path in paths)
    variants = [variant.config for variant in listing().variants]
    found = []
    for section, option, _ in options():
        values = {repr(getattr(getattr(one, section), option, None)) for one in variants}
        named = re.search(rf"[\"']{option}[\"']\s*[:\]]|\b{option}\s*=", tests)
        if len(values) < 2 and not named:
            found.append(f"{section}.{option}")
    assert found == []


def test_every_choice_from_a_list_can_be_rendered():
    kinds = {
        kind for _, _, kind in options() if isinstance(kind, type) and issubclass(kind, StrEnum)
    }
    assert kinds <= AVAILABLE.keys()
    assert all(AVAILABLE[kind] == tuple(kind) for kind in AVAILABLE)

"""Reading a config file: TOML in, model or one error naming everything wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pydantic import ValidationError

from redial.config.model import Config
from redial.version import VERSION

_RULES = {
    "missing": "is missing; allowed: a value (this key has no default)",
    "extra_forbidden": "is not a key of this section; allowed: the keys `redial init` explains",
    "bool_type": "must be a truth value; allowed: true, false",
    "bool_parsing": "must be a truth value; allowed: true, false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be text",
    "greater_than_equal": "allowed: {ge} or more",
    "less_than_equal": "allowed: {le} or less",
    "too_short": "allowed: {min_length} or more entries",
    "too_long": "allowed: {max_length} or fewer entries",
    "enum": "allowed: {expected}",
    "string_pattern_mismatch": "allowed: a lower case letter, then up to 63 of a-z 0-9 _ -",
}


class ConfigError(ValueError):
    """A config file cannot be used; ``problems`` holds one line per wrong key."""

    def __init__(self, source: str, problems: list[str]) -> None:
        self.source = source
        self.problems = problems
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"{source}: {count}\n" + "\n".join(f"  - {line}" for line in problems))


def load(path: Path | str) -> Config:
    """Read one ``sql/configs/<name>.toml``. Raises ConfigError, for unreadable files too."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [f"cannot be read: {error}"]) from error
    named = f"name: must equal the file's name; allowed: {path.stem!r}"
    try:
        config = parse(text, str(path))
    except ConfigError as error:
        if _name_in(text) in (None, path.stem):
            raise
        raise ConfigError(str(path), [*error.problems, named]) from error
    if config.name != path.stem:
        raise ConfigError(str(path), [named])
    return config


def _name_in(text: str) -> str | None:
    """The name a file gives itself; None where it gives none, or is no TOML."""
    try:
        name = tomllib.loads(text).get("name")
    except tomllib.TOMLDecodeError:
        return None
    return name if isinstance(name, str) else None


def parse(text: str, source: str = "<text>") -> Config:
    """Model of TOML ``text``; ``source`` names it in errors. Raises ConfigError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source, [f"is not TOML: {error}"]) from error
    _check_version(data.pop("redial", VERSION), source)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(source, _problems(error)) from error


def _check_version(written_for: object, source: str) -> None:
    """The key ``redial`` at the top of a file: the version it was written for, no choice of the
    configuration. Raises ConfigError when that is none, or newer than this one.
    """
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", str(written_for))
    if found is None:
        raise ConfigError(
            source, [f"redial: {_shown(written_for)}: allowed: a version, such as {VERSION!r}"]
        )
    if tuple(map(int, found.groups())) > tuple(map(int, VERSION.split("."))):
        raise ConfigError(
            source,
            [
                f"redial: {_shown(written_for)}: was written for a newer version than this one, "
                f"{VERSION}; install that one"
            ],
        )


def _problems(error: ValidationError) -> list[str]:
    """One line per broken rule: key, rule, allowed values."""
    lines: list[str] = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "value_error":
            text = str(item["ctx"]["error"])
            lines += [f"{key}: {line}" if key else line for line in text.split("\n")]
            continue
        rule = _RULES.get(item["type"], item["msg"]).format(**item.get("ctx", {}))
        got = "" if item["type"] in ("missing", "extra_forbidden") else f" {_shown(item['input'])}:"
        lines.append(f"{key}:{got} {rule}")
    return lines


def _shown(value: object) -> str:
    """A value short enough for one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

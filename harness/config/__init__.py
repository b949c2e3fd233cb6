"""Typed model of ``sql/configs/<name>.toml``; every input error of a file is reported at once."""

from harness.config.load import ConfigError, load, parse
from harness.config.model import Config

__all__ = ["Config", "ConfigError", "load", "parse"]

"""Typed model of ``sql/configs/<name>.toml``; every input error of a file is reported at once."""

from redial.config.load import ConfigError, load, parse
from redial.config.model import Config

__all__ = ["Config", "ConfigError", "load", "parse"]

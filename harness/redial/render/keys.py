"""What of T-SQL differs by key: ``per_key`` in templates, the parts of ``sql/templates/keys``.

Each part is a macro of Jinja. A key's own file comes first, then its base, then the base of all; the
head of ``key_bases/any.inc.j2`` says what each part is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from jinja2 import BaseLoader, Environment, UndefinedError
from jinja2.environment import TemplateModule

from redial.config import Config
from redial.config.keys import BASES, FOLDER, SUFFIX, bases


class KeyParts:
    """The parts of one configuration's key. Each is called with what its file says it takes.

    templates: the folder they are in. loader: reads them, as a mutant changes them, say. They are
    those of that folder also where a mutant's own template asks.
    """

    def __init__(
        self, environment: Environment, config: Config, templates: Path, loader: BaseLoader
    ) -> None:
        self._environment = environment.overlay(loader=loader)
        self._key = config.conversation.key.value
        self._base = config.traits.base
        self._templates = templates

    def __getattr__(self, name: str) -> Callable[..., str]:
        """The part of that name. Raises UndefinedError, KeyFileError, MutantError, TemplateError."""
        if name.startswith("_"):
            raise AttributeError(name)
        for module in self._modules:
            if hasattr(module, name):
                part: Callable[..., str] = getattr(module, name)
                return part
        raise UndefinedError(f"per_key has no part {name!r} in {', '.join(self._files)}")

    @cached_property
    def _files(self) -> list[str]:
        below = [f"{BASES}/{base}{SUFFIX}" for base in bases(self._templates, self._base)]
        return [f"{FOLDER}/{self._key}{SUFFIX}", *below]

    @cached_property
    def _modules(self) -> list[TemplateModule]:
        return [self._environment.get_template(file).module for file in self._files]

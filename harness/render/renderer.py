"""Templates to text. No files are written here; see ``files``."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError, UndefinedError

from harness.config import Config
from harness.render.quoting import literal, message_text, quote_name, single_quoted

SQL = Path(__file__).resolve().parents[2] / "sql"
"""The repository's ``sql`` directory."""

VERSION = "0.1.0"
"""Version stamp of rendered modules, readable from the catalog (OBJECT_DEFINITION)."""

HEADER = "SET ANSI_NULLS ON;\nSET QUOTED_IDENTIFIER ON;\nGO\n"
"""Both settings are frozen into a module when it is created, and sqlcmd connects with
QUOTED_IDENTIFIER OFF, which breaks .value() later, inside activation (F-103)."""

UNINSTALL = "99_uninstall"
SUFFIX = ".sql.j2"


class RenderError(Exception):
    """A template cannot be rendered; the text names file and line."""


@dataclass(frozen=True)
class _Source:
    """One template: ``NN_area/[NN_]object.kind.sql.j2`` below ``root``."""

    root: Path
    area: str
    file: str

    @property
    def output(self) -> str:
        """Name of the rendered file: area number, object and kind; bare for uninstall scripts."""
        if self.area == UNINSTALL:
            return self.object_kind.split(".")[0] + ".sql"
        return f"{self.area[:2]}_{self.file.removesuffix('.j2')}"

    @property
    def object_kind(self) -> str:
        """``object.kind`` without the ordering number: what a mutant names to replace or omit."""
        return re.sub(r"^\d\d_", "", self.file.removesuffix(SUFFIX))


def render(config: Config, root: Path = SQL) -> dict[str, str]:
    """Every file of ``sql/generated/<name>`` by name, in the order of installation.

    ``install.sql``, ``uninstall.sql``, ``purge_data.sql`` and ``SHA256SUMS`` come last.
    Raises RenderError naming template file and line.
    """
    sources = _sources(config, root)
    environment = _environment(config)
    environment.globals["installed"] = frozenset(source.object_kind for source in sources)
    parts = {
        source.output: HEADER + _render_one(environment, source, content_hash="0" * 64)
        for source in sources
        if source.area != UNINSTALL
    }
    digest = hashlib.sha256("\0".join(parts.values()).encode()).hexdigest()
    files = {}
    for source in sources:
        text = HEADER + _render_one(environment, source, content_hash=digest)
        files[source.output] = text
    return _with_products(files)


def _with_products(files: dict[str, str]) -> dict[str, str]:
    """Add the one-file installer, which is the parts in order, and the checksums of all."""
    parts = [name for name in files if re.match(r"\d\d_", name)]
    files["install.sql"] = "".join(f"-- {name}\n{files[name]}" for name in parts)
    files["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in files.items()
    )
    return files


def _sources(config: Config, root: Path) -> list[_Source]:
    """Templates in order; a comparison strategy replaces or omits ours by object and kind."""
    chosen = {s.object_kind: s for s in _scan(root / "templates")}
    strategy = config.conversation.timer_strategy
    if strategy != "two_phase":
        mutant = root / "mutants" / strategy
        try:
            omitted = tomllib.loads((mutant / "mutant.toml").read_text(encoding="utf-8"))["omit"]
        except (OSError, KeyError) as error:
            raise RenderError(f"{mutant / 'mutant.toml'}:1: {error}") from error
        for object_kind in omitted:
            if chosen.pop(object_kind, None) is None:
                raise RenderError(f"{mutant / 'mutant.toml'}:1: nothing to omit: {object_kind!r}")
        chosen.update({s.object_kind: s for s in _scan(mutant)})
    return sorted(chosen.values(), key=lambda s: (s.area, s.file))


def _scan(root: Path) -> list[_Source]:
    """All templates below ``root``."""
    if not root.is_dir():
        raise RenderError(f"{root}:1: there is no such template directory")
    return [_Source(root, p.parent.name, p.name) for p in root.glob(f"[0-9][0-9]_*/*{SUFFIX}")]


def _environment(config: Config) -> Environment:
    """Strict undefined: a misspelt variable is an error, never an empty string in a script."""
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # T-SQL, quoted by the filters below
    )
    environment.filters.update(
        quote_name=quote_name,
        literal=literal,
        single_quoted=single_quoted,
        message_text=message_text,
    )
    schema = quote_name(config.schema_name)
    environment.globals.update(
        c=config,
        own=lambda name: f"{schema}.{quote_name(name)}",
        stamp=f"Redial {VERSION}, configuration {config.name}",
        version=VERSION,
    )
    return environment


def _render_one(environment: Environment, source: _Source, content_hash: str) -> str:
    """Text of one template. Raises RenderError with file and line of the template."""
    path = source.root / source.area / source.file
    shown = f"{source.root.name}/{source.area}/{source.file}"
    environment.loader = FileSystemLoader(source.root)
    try:
        template = environment.get_template(f"{source.area}/{source.file}")
        text = template.render(content_hash=content_hash)
    except TemplateSyntaxError as error:
        raise RenderError(f"{shown}:{error.lineno}: {error.message}") from error
    except TemplateNotFound as error:
        raise RenderError(f"{shown}:1: template not found: {error.name}") from error
    except (UndefinedError, TemplateError) as error:
        raise RenderError(f"{shown}:{_line_of(error, str(path))}: {error}") from error
    if not text.rstrip().endswith("GO"):
        raise RenderError(f"{shown}:{text.count(chr(10))}: the file must end with GO")
    return text


def _line_of(error: BaseException, path: str) -> int:
    """Line of the template an error came from (Jinja2 rewrites tracebacks to template lines)."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line

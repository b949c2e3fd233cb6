"""Templates to text. No files are written here; see ``files``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
)
from jinja2.bccache import Bucket
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError, UndefinedError

from redial.config import Config
from redial.config.choices import CORE, Signing, TimerStrategy
from redial.config.keys import KeyFileError
from redial.paths import SQL, template_folders
from redial.render.conditions import condition
from redial.render.findings import SUFFIX, FindingError, Register
from redial.render.keys import KeyParts
from redial.render.modules import (
    CONTENTS,
    HEADER,
    Frame,
    Place,
    assembled,
    contents,
    file_of,
    made,
    object_of,
    on_disk,
)
from redial.render.mutants import Mutant, MutantError, find_mutant
from redial.render.quoting import literal, message_text, quote_name, single_quoted, wrapped
from redial.render.sides import Side, sides, signer_prefix
from redial.version import VERSION

SCRIPTS = ("98_", "99_")
"""Directories of scripts that are no part of an installation begin so."""

RETIRED = frozenset(
    {
        "usp_RehearseLanding.procedure",
        *(
            f"ufn_Health{part}.function"
            for part in ("Broker", "Conversations", "Data", "Pending", "Queues")
        ),
    }
)
"""What an earlier revision installed and no template renders any more: a deployment removes it."""

SIGNED = ("ufn_Pending", "usp_SeesPending")
"""What is signed where a signature lends db_owner: they read the server's views and nothing of ours,
call no module and write nothing. Whoever may ALTER our views and tables could else read or write
what he likes through them: a view is part of the statement it is in (F-241)."""

LATE = re.compile(r"\b(?:content_hash|signed|digests)\b")
"""What is known when all others are rendered. Templates ask for it, their parts never do."""

TEXTS = 1_000
"""Scripts of which a process remembers what was looked for in them."""

WHEN = re.compile(r"\{# when: (.+?) #\}\n")
"""First line of a template that only some configurations install: a Jinja expression over ``c``."""


class RenderError(Exception):
    """A template cannot be rendered; the text names file and line."""


@dataclass(frozen=True)
class _Source:
    """One template: ``module/NN_area/[NN_]object.kind[.variant].sql.j2`` below ``root``.

    Variants of one object exclude each other by their first lines (``WHEN``). A mutant's templates
    are in no module's folder: they belong where what they replace does.
    """

    root: Path
    folder: str
    """Of the module; empty in a mutant's."""
    area: str
    file: str
    module: str = ""
    """The module it belongs to."""

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.root / self.folder / self.area / self.file

    @property
    def in_file(self) -> str:
        """The file of an installation it stands in."""
        return file_of(self.module, self.area)

    @property
    def shown(self) -> str:
        """The file, as errors name it."""
        return f"{self.root.name}/{self.path.relative_to(self.root)}"

    @property
    def output(self) -> str:
        """Name of the rendered file: area number, object and kind; bare for scripts apart."""
        if self.area.startswith(SCRIPTS):
            return self.object_kind.split(".")[0] + ".sql"
        number = self.file[:3] if re.match(r"\d\d_", self.file) else ""
        return f"{self.area[:2]}_{number}{self.object_kind}.sql"

    @property
    def object_kind(self) -> str:
        """``object.kind``, no ordering number, no variant: what a mutant replaces or omits."""
        name = re.sub(r"^\d\d_", "", self.file.removesuffix(SUFFIX))
        return ".".join(name.split(".")[:2])


SUMS = "SHA256SUMS"
"""File with the digest of every other file of a folder, as sha256sum -c reads it."""


def render(config: Config, root: Path = SQL, mutant: str | None = None) -> dict[str, str]:
    """The parts of an installation in the order they run, and every file of ``sql/generated/<name>``
    that is made of them (``redial.render.modules``), by name.

    The removal and report scripts, ``CONTENTS`` and ``SHA256SUMS`` come last. Where the target has a
    database of its own (``sides``), its files come first, in a folder. ``mutant`` names a known-bad
    variant of ``sql/mutants``; strategy ``article`` is the mutant of that name.
    Raises RenderError naming template file and line.
    """
    files: dict[str, str] = {}
    places: dict[str, Place] = {}
    for here in sides(config):
        texts, where = _render_side(config, here, root, mutant)
        files |= {here.folder + name: text for name, text in texts.items()}
        places |= {
            here.folder + name: one._replace(file=here.folder + one.file)
            for name, one in where.items()
        }
    files[CONTENTS] = contents(places)
    files[SUMS] = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
        for name, text in on_disk(files).items()
    )
    return files


def _render_side(
    config: Config, here: Side, root: Path, mutant: str | None
) -> tuple[dict[str, str], dict[str, Place]]:
    """The parts and files of one database, their names without its folder; where each part stands."""
    change = _mutant(config, root, mutant)
    environment = new_environment(config, here, root, change)
    sources = _sources(root, change, environment, here)
    known = _know(environment, sources, root)
    _check_hook(config, known)

    @cache
    def parts_of(root: Path) -> _Parts:
        folders = [root, *_templates_beside(root)]
        return _Parts([part for one in folders for part in template_folders(one)], change)

    def rendered(source: _Source, content_hash: str) -> str:
        environment.loader = parts_of(source.root)  # the same one: what is included is read once
        return HEADER + _render_one(environment, source, change, content_hash)

    parts = {s: rendered(s, "0" * 64) for s in sources if not s.area.startswith(SCRIPTS)}
    files = {s.output: parts[s] for s in parts}
    environment.globals["signed"] = signed_modules(files)
    own = quote_name(config.schema_name) + "."
    environment.globals["digests"] = [
        f"({literal(name)}, {'NULL' if found is None else '0x' + found.hex()})"
        for name, found in made(files, own)
    ]
    digest = hashlib.sha256("\0".join(parts.values()).encode()).hexdigest()
    late = [s for s in parts if _is_late(s.path.read_text(encoding="utf-8"))]
    files |= {s.output: rendered(s, digest) for s in late}
    environment.loader = parts_of(root / "templates")
    texts, places = _assembled(environment, parts, files, digest)
    scripts = {s.output: rendered(s, digest) for s in sources if s not in parts}
    return files | texts | scripts, places


def _know(environment: Environment, sources: Iterable[_Source], root: Path) -> frozenset[str]:
    """Tell templates what is installed with them; what any configuration may install."""
    every = _scan(root / "templates")
    known = frozenset(source.object_kind for source in every) | RETIRED
    migrations = [int(s.file[:2]) for s in every if s.object_kind.endswith(".migration")]
    environment.globals.update(
        last_migration=max(migrations, default=0),
        migrations=sum(source.object_kind.endswith(".migration") for source in sources),
        installed=frozenset(source.object_kind for source in sources),
        of_core=frozenset(source.object_kind for source in sources if source.module == CORE),
        known=known,
    )
    return known


def _assembled(
    environment: Environment, sources: Iterable[_Source], parts: Mapping[str, str], content: str
) -> tuple[dict[str, str], dict[str, Place]]:
    """The files that the parts make, one a module, and where each part stands."""
    around: Any = environment.get_template("97_files/file.inc.j2").module  # its macros
    files: dict[str, list[str]] = {}
    for source in sources:
        files.setdefault(source.in_file, []).append(source.output)
    frames, before = {}, ""
    for name in files:
        head = around.head(name, before, content)
        frames[name] = Frame(head, around.tail(name, content), around.guard(content))
        before = name
    return assembled(frames, files, parts)


def output_of(template: Path) -> str:
    """Name of the file a template of ``NN_area`` is rendered to."""
    module = template.parents[1]
    return _Source(module.parent, module.name, template.parent.name, template.name).output


def template_files(config: Config, root: Path = SQL) -> list[Path]:
    """The templates this configuration installs, over all its databases. Raises RenderError."""
    found: dict[Path, None] = {}
    for here in sides(config):
        environment = new_environment(config, here, root)
        for source in _sources(root, Mutant("", ""), environment, here):
            found[source.path] = None
    return list(found)


def signed_modules(files: Mapping[str, str]) -> list[str]:
    """Names of the modules that are signed where a signature lends db_owner. files: of one side."""
    return sorted({object_of(name)[0] for name in files} & set(SIGNED))


@lru_cache(maxsize=TEXTS)
def _is_late(template: str) -> bool:
    """Whether a template asks for what is known when all others are rendered."""
    return LATE.search(template) is not None


def _check_hook(config: Config, known: frozenset[str]) -> None:
    """The user's procedure must not be one of ours, which a deployment replaces."""
    ours = {name.casefold() for name in known if name.endswith(".procedure")}
    if f"{config.target.hook}.procedure".casefold() in ours:
        raise RenderError(
            f"target.hook: {config.target.hook!r} is a procedure of the package, which a "
            "deployment replaces; allowed: another name"
        )


def _mutant(config: Config, root: Path, name: str | None) -> Mutant:
    """The mutant asked for by name or by the config's strategy; an empty one for neither."""
    if name is None and config.conversation.timer_strategy == TimerStrategy.ARTICLE:
        name = TimerStrategy.ARTICLE.value
    try:
        return find_mutant(root, name) if name else Mutant("", "")
    except MutantError as error:
        raise RenderError(f"mutants/mutants.toml:1: {error}") from error


def _sources(root: Path, change: Mutant, environment: Environment, here: Side) -> list[_Source]:
    """Templates in order; a mutant's own replace ours, or ours are left out, by object and kind."""
    templates = root / "templates"
    modules = {source.object_kind: source.folder or CORE for source in _scan(templates)}
    chosen = _chosen(templates, modules, environment, here)
    for object_kind in change.omit:
        if chosen.pop(object_kind, None) is None:
            raise RenderError(f"mutants/mutants.toml:1: nothing to omit: {object_kind!r}")
    for directory in change.directories:
        chosen.update(_chosen(directory, modules, environment, here))
    parts = {path.name.removesuffix(".j2") for path in templates.rglob("*.inc.j2")}
    for name in change.replace.keys() - chosen.keys() - parts:
        raise RenderError(f"mutants/mutants.toml:1: nothing to change: {name!r}")
    return sorted(chosen.values(), key=lambda one: (one.in_file, one.area, one.file))


def _chosen(
    root: Path, modules: Mapping[str, str], environment: Environment, here: Side
) -> dict[str, _Source]:
    """The templates below ``root`` that this configuration installs, by object and kind.

    modules: of our own templates, by object and kind.
    """
    chosen: dict[str, _Source] = {}
    config = environment.globals["c"]
    assert isinstance(config, Config)
    for template in _scan(root):
        source = replace(template, module=modules.get(template.object_kind, CORE))
        if source.module not in config.installed_modules:
            continue
        if not here.holds(source.area, source.object_kind.split(".")[0]):
            continue
        when = WHEN.match(source.path.read_text(encoding="utf-8"))
        try:
            if when and not condition(when[1])(environment.globals):
                continue
        except (TemplateError, TypeError) as error:
            raise RenderError(f"{source.shown}:1: {error}") from error
        if source.object_kind in chosen:
            other = chosen[source.object_kind].file
            raise RenderError(
                f"{source.shown}:1: {other} makes the same object for this configuration"
            )
        chosen[source.object_kind] = source
    return chosen


def _scan(root: Path) -> list[_Source]:
    """All templates below ``root``."""
    if not root.is_dir():
        raise RenderError(f"{root}:1: there is no such template directory")
    found = sorted(
        path for one in template_folders(root) for path in one.glob(f"[0-9][0-9]_*/*{SUFFIX}")
    )
    return [_source(root, path) for path in found]


def _source(root: Path, path: Path) -> _Source:
    """The template at ``path``, below ``root``."""
    *module, area, file = path.relative_to(root).parts
    return _Source(root, "".join(module), area, file)


class _Compiled(BytecodeCache):
    """Templates compiled once per process: rendering many configurations is mostly that."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, CodeType]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """What is kept, if the template's text is what it was. Code is never changed: to share it
        is to read it once."""
        checksum, code = self._kept.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it."""
        if bucket.code is not None:
            self._kept[bucket.key] = bucket.checksum, bucket.code


_COMPILED = _Compiled()


def new_environment(
    config: Config, here: Side | None = None, root: Path = SQL, change: Mutant | None = None
) -> Environment:
    """Strict undefined: a misspelt variable is an error, never an empty string in a script.

    root: of the templates, as ``change`` changes them.
    """
    templates = root / "templates"
    loader = _Parts(template_folders(templates), change or Mutant("", ""))
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # T-SQL, quoted by the filters below
        loader=loader,
        bytecode_cache=_COMPILED,
    )
    environment.filters.update(
        quote_name=quote_name,
        literal=literal,
        single_quoted=single_quoted,
        message_text=message_text,
        wrapped=wrapped,
    )
    schema = quote_name(config.schema_name)
    environment.globals.update(
        c=config,
        here=here or sides(config)[-1],
        per_key=KeyParts(environment, config, templates, loader),
        register=Register(environment, templates),
        signed=[],
        digests=[],
        signer_prefix=signer_prefix(config),
        unseen=_unseen(config),
        own=lambda name: f"{schema}.{quote_name(name)}",
        stamp=_stamp(config),
        version=VERSION,
    )
    return environment


def register(config: Config, here: Side | None = None, root: Path = SQL) -> Register:
    """The findings that usp_Health looks for in a database of this configuration.

    here: the database's side; without one the last. root: of the templates. Raises RenderError.
    """
    here = here or sides(config)[-1]
    change = _mutant(config, root, None)
    environment = new_environment(config, here, root, change)
    _know(environment, _sources(root, change, environment, here), root)
    found = environment.globals["register"]
    assert isinstance(found, Register)
    return found


def _stamp(config: Config) -> str:
    """What made a script, and of what."""
    warning = "".join(f", COMPARISON ONLY: {choice}" for choice in config.comparison_only)
    return f"Redial {VERSION}, configuration {config.name}{warning}"


def _unseen(config: Config) -> dict[str, str]:
    """Why a module may not see sys.transmission_queue (F-113), and the next command."""
    module = config.roles.module
    if config.security.signing == Signing.CERTIFICATE:
        return {
            "why": "it is not signed any more, as after every change of its text",
            "next": "deploy again, which signs it",
        }
    return {
        "why": f"user '{module}' must be a member of db_owner",
        "next": f"ALTER ROLE db_owner ADD MEMBER {quote_name(module)}",
    }


def _render_one(
    environment: Environment, source: _Source, change: Mutant, content_hash: str
) -> str:
    """Text of one template. Raises RenderError with file and line of the template."""
    shown = source.shown
    try:
        text = _template(environment, source, change).render(content_hash=content_hash)
    except (MutantError, KeyFileError, FindingError) as error:
        raise RenderError(f"{shown}:1: {error}") from error
    except TemplateSyntaxError as error:
        part = Path(error.filename or source.path)
        above = source.root.parent
        where = part.relative_to(above) if part.is_relative_to(above) else error.name
        raise RenderError(f"{where}:{error.lineno}: {error.message}") from error
    except TemplateNotFound as error:
        raise RenderError(f"{shown}:1: template not found: {error.name}") from error
    except (UndefinedError, TemplateError) as error:
        raise RenderError(f"{shown}:{_line_of(error, str(source.path))}: {error}") from error
    if not text.rstrip().endswith("GO"):
        raise RenderError(f"{shown}:{text.count(chr(10))}: the file must end with GO")
    return text


class _Parts(FileSystemLoader):
    """Templates, and what they include: that too may be what a mutant changes (``row.inc``)."""

    def __init__(self, folders: list[Path], change: Mutant) -> None:
        super().__init__(folders)
        self.change = change
        """Raises MutantError while a part is read that its text does not fit."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """As Jinja2 wants it: text, path, and whether the file is as it was."""
        text, path, same = super().get_source(environment, template)
        part = template.rpartition("/")[2].removesuffix(".j2")
        return self.change.apply(part, text), path, same


def _templates_beside(root: Path) -> list[Path]:
    """Our templates, whose parts those of a mutant or comparator may use."""
    return [path / "templates" for path in root.parents if (path / "templates").is_dir()][:1]


def _template(environment: Environment, source: _Source, change: Mutant) -> Template:
    """The template, compiled; the text of one a mutant changes comes from it, not from the file."""
    name = f"{source.area}/{source.file}"
    if source.object_kind not in change.replace:
        return environment.get_template(name)
    text = source.path.read_text(encoding="utf-8")
    return environment.from_string(change.apply(source.object_kind, text))


def _line_of(error: BaseException, path: str) -> int:
    """Line of the template an error came from (Jinja2 rewrites tracebacks to template lines)."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line

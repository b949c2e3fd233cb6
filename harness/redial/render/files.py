"""Writing and checking what a configuration renders, ``sql/generated/<name>``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from redial.config import Config, ConfigError
from redial.paths import SQL
from redial.render.modules import on_disk, parts_in
from redial.render.renderer import SUMS, RenderError, render
from redial.render.runners import unsafe, unsafe_name


def write(config: Config, directory: Path, root: Path = SQL) -> list[Path]:
    """Render ``config`` into ``directory``; remove what is no longer rendered there.

    root: of the templates. Returns the paths whose content changed. Raises RenderError, also for a
    script that some tool would cut in a wrong place, and ConfigError where a name leads to that: nothing
    is written then.
    """
    files = on_disk(render(config, root))
    if refused := _refused(files):
        if names := _at_fault(config):
            raise ConfigError(f"{config.name}.toml", names)
        raise RenderError("; ".join(refused))
    changed = []
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text.encode():
            path.write_bytes(text.encode())
            changed.append(path)
    for name in sorted(_present(directory) - set(files)):
        (directory / name).unlink()
        changed.append(directory / name)
    return changed


class LineEnds(ValueError):
    """Files are as they were rendered but for their line ends; the text says which."""


def read(directory: Path) -> dict[str, str]:
    """The rendered files of a folder, and the parts they are made of, for deploying what was reviewed.

    Raises ValueError when one is not what SHA256SUMS says, is missing there, or is not named in it;
    LineEnds where nothing else is wrong.
    """
    sums = directory / SUMS
    if not sums.is_file():
        raise ValueError(
            f"{directory} has no {SUMS}: it is no folder that redial render has written"
        )
    said = _said(sums)
    present = _present(directory) - {SUMS}
    wrong = [f"{name} is missing" for name in said if name not in present]
    wrong += [f"{name} is not in {SUMS}" for name in present if name not in said]
    changed = [name for name in said if name in present and _digest(directory / name) != said[name]]
    ends = [name for name in changed if _digest(directory / name, _with_lf) == said[name]]
    wrong += [f"{name} was changed after it was rendered" for name in changed if name not in ends]
    if ends:
        more = f" and {len(ends) - 1} more files" if len(ends) > 1 else ""
        wrong.append(
            f"the line ends of {min(ends)}{more} were changed from LF to CRLF, by git or an editor"
        )
    if wrong:
        raise (LineEnds if len(wrong) == bool(ends) else ValueError)("; ".join(sorted(wrong)))
    files = {name: (directory / name).read_bytes().decode("utf-8") for name in said}
    return parts_in(files) | files


def _said(sums: Path) -> dict[str, str]:
    """Digest of each file, as SHA256SUMS has it. Raises ValueError, as ``read`` does."""
    try:
        return dict(line.split("  ", 1)[::-1] for line in sums.read_text("utf-8").splitlines())
    except ValueError as error:
        raise ValueError(
            f"{sums.parent} has a {SUMS} that cannot be read: no line of digest and name, or not UTF-8"
        ) from error


def _with_lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")


def _digest(path: Path, as_meant: Callable[[bytes], bytes] = bytes) -> str:
    return hashlib.sha256(as_meant(path.read_bytes())).hexdigest()


def _present(directory: Path) -> set[str]:
    """Names of the files there, those of the target's folder with it."""
    return {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}


def _refused(files: Mapping[str, str]) -> list[str]:
    """What tools would not run as it is meant, of rendered files."""
    scripts = {name: text for name, text in files.items() if name.endswith(".sql")}
    return [f"{name}, {why}" for name, text in scripts.items() for why in unsafe(text)]


def _at_fault(config: Config) -> list[str]:
    """Names of a configuration that some tool takes for something of its own, as problems of its file."""
    return [
        f"{key}: {name!r} cannot stand in files that any tool may run: {why}, and nothing was written; "
        "allowed: a name without quotes, $, {{ and marks of comments"
        for key, name in _texts(config.model_dump(mode="json", by_alias=True))
        if (why := unsafe_name(name))
    ]


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a configuration with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _texts(one, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _texts(one, f"{key}.{number}")


def check(config: Config, directory: Path, root: Path = SQL, tools: bool = False) -> list[str]:
    """What ``directory`` and a fresh rendering differ in: empty means up to date.

    root: of the templates. tools: say too what other tools would cut in a wrong place. Raises
    RenderError.
    """
    files = on_disk(render(config, root))
    present = _present(directory)
    stale = [f"{name}: missing; run redial render" for name in files if name not in present]
    stale += [f"{name}: not rendered any more; run redial render" for name in present - set(files)]
    stale += [
        f"{name}: {_stale(directory / name, text)}; run redial render"
        for name, text in files.items()
        if name in present and (directory / name).read_bytes() != text.encode()
    ]
    return sorted(stale) + (_refused(files) if tools else [])


def _stale(path: Path, text: str) -> str:
    same = _with_lf(path.read_bytes()) == text.encode()
    return "its line ends were changed from LF to CRLF" if same else "stale"

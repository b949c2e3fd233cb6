"""``--config NAME``: configs by name, and the commands that render them."""

from __future__ import annotations

from redial.cli.errors import UserError, command
from redial.config import Config
from redial.paths import CONFIGS
from redial.render import check, write


def names() -> list[str]:
    """Names of all configs in sql/configs."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def load_named(name: str) -> Config:
    """One config by name. Raises UserError for an unknown name, ConfigError for a wrong file."""
    from redial.config import load

    if name not in names():
        raise UserError(
            f"--config {name}",
            "there is no such file in sql/configs",
            f"use one of: {', '.join(names())}; or add sql/configs/{name}.toml",
        )
    return load(CONFIGS / f"{name}.toml")


@command
def render(config: str | None = None, check_only: bool = False) -> int:
    """Render one config, or all; with ``check_only`` compare and return 1 when stale."""
    stale = 0
    for name in [config] if config else names():
        model = load_named(name)
        if not check_only:
            changed = write(model)
            print(f"sql/generated/{name}: {len(changed)} files changed")
            continue
        found = check(model)
        stale += len(found)
        for line in found:
            print(line)
        print(f"sql/generated/{name}: {'stale' if found else 'up to date'}")
    if stale:
        print("  Next: invoke render, and commit what it changes")
    return 1 if stale else 0

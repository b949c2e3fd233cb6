"""Git, as a program."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """What git says in a clone. Raises RuntimeError with what it says of an error."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def head(root: Path, digits: int = 8) -> str:
    """Short hash of the commit in a clone, with + where files differ from it; 'none' outside git."""
    try:
        found = git(root, "rev-parse", f"--short={digits}", "HEAD").strip()
        return found + "+" * bool(
            git(root, "status", "--porcelain", "--untracked-files=no").strip()
        )
    except (OSError, RuntimeError):
        return "none"


def commit(root: Path, ref: str) -> str:
    """The commit that a name stands for. Raises RuntimeError."""
    return git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").strip()

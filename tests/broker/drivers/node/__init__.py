"""Where the Node packages of the matrix are: installed once into the user's cache, as locked."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from platformdirs import user_cache_dir

_HERE = Path(__file__).parent
_FILES = ("package.json", "package-lock.json")
_INSTALL_SECONDS = 180


def find_packages() -> tuple[str, Path, str]:
    """(node, folder of the packages, problem): problem is "" when the driver can be run."""
    node, npm = shutil.which("node"), shutil.which("npm")
    digest = hashlib.sha256(b"".join((_HERE / name).read_bytes() for name in _FILES)).hexdigest()
    folder = Path(user_cache_dir("redial"), "node", digest[:16])
    packages = folder / "node_modules"
    if node is None or npm is None:
        return "", packages, "no node and npm on this machine"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            for name in _FILES:
                shutil.copy(_HERE / name, folder)
            if problem := _installed(npm, folder):
                return "", packages, f"npm could not install tedious: {problem}"
            done.touch()
    return node, packages, ""


def _installed(npm: str, folder: Path) -> str:
    """Why they could not be installed; "" when they could."""
    try:
        run = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return str(error)
    return (run.stderr.strip()[-300:] or f"exit status {run.returncode}") if run.returncode else ""

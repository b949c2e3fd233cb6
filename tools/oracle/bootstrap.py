"""Getting .NET and Microsoft's assemblies from the package index, and starting them.

The first run fills a cache directory ($TSQL_ORACLE_HOME, default ~/.cache/tsql-oracle):

- pythonnet and dotnetcore2: the bridge to .NET and a .NET Core 3.1 runtime;
- one wheel of mssql-cli, never installed: the ScriptDom and DacFx 15.0 assemblies in it;
- icu4py and psycopg2-binary, never installed, for the model only: the ICU and OpenSSL 1.1 libraries
  in them, which that runtime wants and a bare machine lacks.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from typing import NoReturn

HOME = os.environ.get("TSQL_ORACLE_HOME") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tsql-oracle"
)
PY_REQS = ["pythonnet>=3.0.5,<4", "dotnetcore2==3.1.23"]
_DLLS = (
    r"mssqlcli/mssqltoolsservice/bin/("
    r"Microsoft\.(SqlServer\.(TransactSql\.ScriptDom|Dac|Dac\.Extensions|Types)"
    r"|Data\.Tools\.(Schema\.Sql|Utilities|Sql\.BatchParser))"
    r"|System\.(ComponentModel\.Composition|IO\.Packaging|Data\.SqlClient|Security\.Permissions"
    r"|Drawing\.Common|Configuration\.ConfigurationManager))\.dll$"
)
WHEELS = {  # directory in the cache -> (requirement, members to unpack)
    "dlls": ("mssql-cli==1.0.0", _DLLS),
    "icu": ("icu4py==1.2.0", r".*/(libicu(data|uc|i18n)-[0-9a-f]+\.so\.\d+[\d.]*)$"),
    "ssl": ("psycopg2-binary==2.9.9", r".*/(lib(ssl|crypto)-[0-9a-f]+\.so\.1\.1)$"),
}
PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux1")
WHEEL_TAGS = [
    "--only-binary=:all:",
    *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "none"),
    *(word for p in PLATFORMS for word in ("--platform", f"{p}_x86_64")),
]
MARK = "_TSQL_ORACLE"
"""Environment variable that says this process was started for ``parse`` or ``model``."""


def _pip(*arguments: str) -> None:
    """Run pip quietly. Exits with status 2 and pip's words when it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    run = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if run.returncode:
        sys.stderr.write(run.stdout)
        raise SystemExit(2)


def _unpack(key: str, destination: str) -> None:
    """Download one wheel and unpack the members we need; libraries get their real sonames."""
    requirement, pattern = WHEELS[key]
    scratch = f"{destination}.tmp{os.getpid()}"
    os.makedirs(scratch)
    _pip("download", "--no-deps", "-d", scratch, *WHEEL_TAGS, requirement)
    (wheel,) = glob.glob(scratch + "/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not re.match(pattern, name):
                continue
            base = os.path.basename(name)
            with open(os.path.join(scratch, base), "wb") as out:
                out.write(archive.read(name))
            library = re.match(r"(lib\w+)-[0-9a-f]+\.so\.(1\.1|\d+)", base)
            if library:  # wheels carry a hash in the file name
                os.symlink(base, os.path.join(scratch, "{}.so.{}".format(*library.groups())))
    os.unlink(wheel)
    os.rename(scratch, destination)


def bootstrap(want_model: bool) -> str:
    """Fill the cache where it lacks something; returns the directory of Python packages."""
    os.makedirs(HOME, exist_ok=True)
    with open(os.path.join(HOME, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packages = os.path.join(HOME, "py{}.{}".format(*sys.version_info[:2]))
        if not os.path.isdir(packages):
            print(f"tsql_oracle: first run, filling {HOME} ...", file=sys.stderr)
            scratch = packages + ".tmp"
            shutil.rmtree(scratch, ignore_errors=True)
            _pip("install", "--target", scratch, *PY_REQS)
            os.rename(scratch, packages)
        for key in ["dlls", *(["icu", "ssl"] if want_model else [])]:
            directory = os.path.join(HOME, key)
            if not os.path.isdir(directory):
                _unpack(key, directory)
        config = os.path.join(HOME, "runtimeconfig.json")
        if not os.path.exists(config):
            framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
            with open(config, "w") as out:
                json.dump({"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": framework}}, out)
    return packages


def reexec(want_model: bool) -> NoReturn:
    """Start this process again: the loader reads LD_LIBRARY_PATH and .NET its settings once."""
    packages = bootstrap(want_model)
    env = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1")
    env[MARK] = "model" if want_model else "parse"
    env["PYTHONPATH"] = packages + os.pathsep + env.get("PYTHONPATH", "")
    if want_model:
        icu, ssl = os.path.join(HOME, "icu"), os.path.join(HOME, "ssl")
        env["LD_LIBRARY_PATH"] = os.pathsep.join([icu, ssl, env.get("LD_LIBRARY_PATH", "")])
        library = os.path.basename(glob.glob(icu + "/libicuuc.so.*")[0])
        env["CLR_ICU_VERSION_OVERRIDE"] = library.rsplit(".", 1)[1]
        env.pop("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", None)
    else:
        env["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"  # needs no ICU, starts faster
    os.execve(sys.executable, [sys.executable, *sys.argv], env)


def load_dotnet(model: bool) -> None:
    """Start .NET in this process and make the assemblies importable."""
    import dotnetcore2
    from clr_loader import get_coreclr
    from pythonnet import set_runtime

    root = os.path.join(os.path.dirname(dotnetcore2.__file__), "bin")
    dotnet = os.path.join(root, "dotnet")
    if os.path.exists(dotnet) and not os.access(dotnet, os.X_OK):
        os.chmod(dotnet, 0o755)
    config = os.path.join(HOME, "runtimeconfig.json")
    set_runtime(get_coreclr(runtime_config=config, dotnet_root=root))
    import clr

    dlls = os.path.join(HOME, "dlls")
    sys.path.append(dlls)
    names = ["Microsoft.SqlServer.TransactSql.ScriptDom"]
    if model:
        names += ["Microsoft.SqlServer.Dac", "Microsoft.SqlServer.Dac.Extensions"]
        names += ["Microsoft.Data.Tools.Schema.Sql", "Microsoft.Data.Tools.Utilities"]
    for name in names:
        clr.AddReference(os.path.join(dlls, name + ".dll"))

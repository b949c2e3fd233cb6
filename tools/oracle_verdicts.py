#!/usr/bin/env python3
"""Judge every rendered script with the oracle and store the verdicts.

    oracle_verdicts.py           judge what has changed, then write tests/product/sql/oracle_verdicts.txt
    oracle_verdicts.py --all     judge everything anew
    oracle_verdicts.py --check   say which scripts have no stored verdict; needs no oracle

A verdict is the SHA-256 of a script judged clean: parsed by ScriptDom as 2016 and 2019 grammar,
and loaded with its whole installation into one DacFx model. Where the oracle cannot run (no package
index), the stored verdicts still tell whether the scripts are the ones that were judged.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from redial.config import Config, load  # noqa: E402 - a tool runs from a bare clone
from redial.config.choices import LookupHint, TimerStrategy  # noqa: E402
from redial.lint.oracle import OracleAbsent, ask  # noqa: E402
from redial.render import comparator_names, render, sides  # noqa: E402
from redial.render.renderer import SQL, register  # noqa: E402

VERDICTS = ROOT / "tests" / "product" / "sql" / "oracle_verdicts.txt"
ORACLE = ROOT / "tools" / "tsql_oracle.py"
GRAMMARS = ("130", "150")
STAMP = re.compile(r"/\* Redial [^*]*\*/")
PARTS, QUERIES = "comparators/", "findings/"
"""Begin the names of what is judged by grammar only: procedures without the rest, and what usp_Health holds
as texts."""


@cache
def installations() -> dict[str, dict[str, str]]:
    """Every set of scripts we ship or compare with: its name -> script name -> text."""
    found = {}
    for path in sorted((ROOT / "sql" / "configs").glob("*.toml")):
        config = load(path)
        found[config.name] = render(config)
        if config.name == "audit":  # the one it was written for: a row per session, and a timer
            found[f"{config.name}/article"] = render(article(config))
    audit = load(SQL / "configs" / "audit.toml")
    for name in comparator_names(SQL):
        found[f"{PARTS}{name}"] = _theirs(render(audit, mutant=name), found["audit"])
    for strategy in TimerStrategy:
        if strategy not in (TimerStrategy.TWO_PHASE, TimerStrategy.ARTICLE):
            scripts = render(_with(audit, "conversation", timer_strategy=strategy))
            found[f"{PARTS}{strategy.value}"] = _theirs(scripts, found["audit"])
    for hint in LookupHint:
        if hint != LookupHint.UPDLOCK:
            scripts = render(_with(audit, "comparison", lookup_hint=hint))
            found[f"{PARTS}lookup_{hint.value}"] = _theirs(scripts, found["audit"])
    for path in sorted((ROOT / "sql" / "configs").glob("*.toml")):
        config = load(path)
        found[f"{QUERIES}{config.name}"] = _queries(config)
    return found


def _queries(config: Config) -> dict[str, str]:
    """The batches that usp_Health runs, of each database of a configuration."""
    texts: dict[str, str] = {}
    for here in sides(config):
        said = register(config, here)
        texts |= {f"look_{one.id}.sql": one.fill for one in said.looks}
        texts |= {
            f"{one.id}.sql": f"SELECT * FROM ({one.query}) AS q(a, b, c, d);"
            for one in said.findings
        }
    return {name: f"{text}\nGO\n" for name, text in texts.items()}


def _with(config: Config, section: str, **values: object) -> Config:
    """``config`` with other values in one section."""
    changed = getattr(config, section).model_copy(update=values)
    return config.model_copy(update={section: changed})


def _theirs(scripts: dict[str, str], ours: dict[str, str]) -> dict[str, str]:
    """Procedures that say something else than ours, whatever their stamps."""
    return {
        script: text
        for script, text in scripts.items()
        if ".procedure." in script and STAMP.sub("", text) != STAMP.sub("", ours.get(script, ""))
    }


def article(config: Config) -> Config:
    """``config`` with the comparison strategy of the 2007 article."""
    return _with(config, "conversation", timer_strategy=TimerStrategy.ARTICLE)


def hashes() -> dict[str, str]:
    """``installation/script`` -> SHA-256, for all scripts as they render now."""
    return {
        f"{name}/{script}": _digest(text)
        for name, scripts in installations().items()
        for script, text in scripts.items()
        if script.endswith(".sql")
    }


def _digest(text: str) -> str:
    """SHA-256 of a script."""
    return hashlib.sha256(text.encode()).hexdigest()


def stored() -> dict[str, str]:
    """The verdicts on file."""
    lines = VERDICTS.read_text(encoding="utf-8").splitlines() if VERDICTS.exists() else []
    pairs = (line.split("  ", 1) for line in lines if line and not line.startswith("#"))
    return {name: digest for digest, name in pairs}


def unjudged() -> list[str]:
    """Scripts that are not the ones judged clean."""
    known = stored()
    return sorted(name for name, digest in hashes().items() if known.get(name) != digest)


def judge(
    scripts: dict[str, str], directory: Path, name: str = "", clean: frozenset[str] = frozenset()
) -> list[str]:
    """Findings of the oracle on one installation. Raises SystemExit(2) when it cannot run.

    clean: digests of texts whose grammar was judged before; they only join the model.
    """
    for script, text in scripts.items():
        (directory / script).write_text(text, encoding="utf-8")
    every = [name for name in scripts if name.endswith(".sql")]
    parts = [name for name in every if name[:2].isdigit()]
    findings = []
    unseen = [script for script in every if _digest(scripts[script]) not in clean]
    for grammar in GRAMMARS if unseen else ():
        findings += _oracle(directory, ["--version", grammar, *unseen])
    if name.startswith((PARTS, QUERIES)):
        return findings
    model = directory / "model"
    model.mkdir()
    for part in parts:
        (model / part).write_text(scripts[part], encoding="utf-8")
    return findings + _oracle(model, ["--model", *parts])


def _oracle(directory: Path, arguments: list[str]) -> list[str]:
    """Lines the oracle prints."""
    try:
        _, text = ask(arguments, directory)
    except OracleAbsent as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    return text.splitlines()


def main() -> int:
    """Run the command line; returns the exit status."""
    if "--check" in sys.argv[1:]:
        missing = unjudged()
        print("\n".join(f"no verdict: {name}" for name in missing))
        return 1 if missing else 0
    findings = []
    everything = "--all" in sys.argv[1:]
    stale = {line.rpartition("/")[0] for line in unjudged()}
    clean = frozenset() if everything else frozenset(stored().values())
    for name, scripts in installations().items():
        if name not in stale and not everything:
            continue
        with tempfile.TemporaryDirectory() as directory:
            found = judge(scripts, Path(directory), name, clean)
            findings += [f"{name}/{line}" for line in found]
    if findings:
        print("\n".join(findings))
        return 1
    lines = [f"{digest}  {name}" for name, digest in hashes().items()]
    VERDICTS.write_text(
        "# Written by tools/oracle_verdicts.py: SHA-256 of each script the oracle judged clean.\n"
        + "\n".join(lines)
        + "\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a CI, a code scanner and a browser ask of any form: a plan's, a doctor's report."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from xml.etree import ElementTree

from redial.version import VERSION

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
"""Schema of the form code scanners and most CI read (OASIS, SARIF 2.1.0)."""
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = (
    "body{font:16px/1.5 sans-serif;margin:2rem}table{border-collapse:collapse}"
    "td,th{border:1px solid #888;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    "pre{margin:0;white-space:pre-wrap}"
)


def plain(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return _NO_XML.sub("?", text)


def xml(root: ElementTree.Element) -> str:
    """A document."""
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def html_page(title: str, verdict: str, body: str) -> str:
    """One page without anything from elsewhere. body: markup."""
    return (
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f"<h1>{escape(title)}</h1>\n<p><strong>{escape(verdict)}</strong></p>\n{body}</html>\n"
    )


def sarif_log(
    tool: str,
    rules: Iterable[Mapping[str, object]],
    results: Iterable[Mapping[str, object]],
    **more: Any,
) -> str:
    """A run of a tool. more: what else stands in the run."""
    driver = {"name": tool, "version": VERSION, "rules": list(rules)}
    run = {"tool": {"driver": driver}, "results": list(results)} | more
    return json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def sarif_result(
    config: str, rule: str, level: str, text: str, thing: str = ""
) -> dict[str, object]:
    """One finding. It stands in no file; its configuration's is named, for code scanning of GitHub
    refuses a whole file in which one result has no physical location (F-583)."""
    where: dict[str, object] = {
        "physicalLocation": {
            "artifactLocation": {"uri": f"sql/configs/{config}.toml"},
            "region": {"startLine": 1},
        }
    }
    if thing:
        where["logicalLocations"] = [{"fullyQualifiedName": thing}]
    same = hashlib.sha256(f"{rule} {thing or text.partition(chr(10))[0]}".encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [where],
        "partialFingerprints": {"redialFinding/v1": same},
    }

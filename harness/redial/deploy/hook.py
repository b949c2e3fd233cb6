"""The hook, a procedure of whoever uses Redial: has it the parameters it is called with?"""

from __future__ import annotations

import re

from redial.deploy.fingerprint import Catalog, Thing
from redial.deploy.fingerprint.model import HIDDEN
from redial.quoting import quote_name

CALLER = "usp_LandRow"
_NAME = re.compile(r"(@\w+)\s*=")


def hook_misses(schema: str, wanted: Catalog, found: Catalog) -> list[str]:
    """A finding where a parameter is not even named in its text: whether a type is another one is not seen.

    wanted, found: of one database.
    """
    caller = wanted.get(Thing("module", CALLER), {}).get("text", "")
    call = rf"EXECUTE {re.escape(quote_name(schema))}\.\[(.*?)\] (@conversationId = .*?);"
    called = re.search(call, caller, re.DOTALL)
    if called is None:
        return []
    hook = Thing("module", called[1].replace("]]", "]"))
    text = found.get(hook, {}).get("text", "")
    if not text or text == HIDDEN:
        return []
    there = {name.lower() for name in re.findall(r"@\w+", text)}
    missing = [name for name in _NAME.findall(called[2]) if name.lower() not in there]
    if not missing:
        return []
    return [
        f"the hook, {hook}, has no parameter {', '.join(missing)}, and is called with it: every message fails"
        ". Who may: whoever may ALTER it. Next: give it the parameters of docs/hook.md, in its own file"
    ]

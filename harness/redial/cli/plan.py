"""A plan as text for a terminal."""

from __future__ import annotations

from collections import Counter

from redial.deploy.actions import LEFT, NEW, Action
from redial.deploy.plan import NOT_SEEN, Plan
from redial.quoting import in_one_line

LOSS = "no rows"
MEND = "mend"
SHORT = 8
"""Characters of a hash that are shown."""


def shown(plan: Plan) -> str:
    """The plan, ready to print."""
    seen = plan.gate != NOT_SEEN
    none = "none" if seen else NOT_SEEN
    lines = [
        f"plan: configuration {plan.config}, database {' and '.join(plan.databases)}",
        f"  server   {plan.server}",
        f"  product  {plan.product}",
        f"  login    {plan.login}",
        f"  gate     {plan.gate}",
        f"  dialogs  {counted(plan.dialogs) or none}",
        f"  pending  {counted(plan.pending) or none}",
        f"  queues   {counted(plan.depth) or none}",
        f"  files    {moves(plan) if seen else NOT_SEEN}",
        f"  loss     {(LOSS if seen else NOT_SEEN) if not plan.loss else ''}",
        *(f"           {line}" for line in plan.loss),
        f"  at work  {plan.in_the_way or 'nobody holds locks on what is ours'}",
    ]
    if plan.closes:
        lines.append(f"  senders  are refused {plan.closes}")
    if plan.cut:
        lines += ["", "Service Broker is off, and switching it on needs the database for itself:"]
        lines += [f"  {line}" for line in plan.cut]
    if plan.drains:
        lines += ["", "choices that change; the gate closes and dialogs end before they do:"]
        lines += [f"  {line}" for line in plan.drains]
    if plan.callers:
        lines += ["", "callers must know:", *(f"  {line}" for line in plan.callers)]
    new = [action for action in plan.actions if action.why == NEW]
    rest = [action for action in plan.actions if action.why != NEW]
    for database in dict.fromkeys(action.database for action in new):
        kinds = Counter(action.kind for action in new if action.database == database)
        lines += ["", f"fresh: nothing of it is in {database} yet. To create: {counted(kinds)}"]
    if rest:
        lines += ["", *(line for action in rest for line in _rows(action))]
    if plan.others:
        lines += ["", *(f"{MEND:<8} {line}" for line in plan.others)]
    if plan.notes:
        lines += ["", *(f"note     {line}" for line in plan.notes)]
    if plan.blocked:
        lines += ["", "BLOCKED: a deployment would be refused"]
        lines += [f"  {line}" for line in plan.blocked]
    return "\n".join([*lines, "", verdict(plan), ""])


def _rows(action: Action) -> list[str]:
    """What is done, why, and what is in the way."""
    rows = [f"{action.do:<8} {action.what}  [{action.why}]"]
    if action.locks and action.do not in LEFT:
        rows.append(f"         locks: {action.locks}")
    if action.waits_for:
        rows.append(f"         would wait for: {action.waits_for}")
    if action.sql and action.do not in LEFT:
        rows.append(f"         runs: {in_one_line(action.sql)}")
    return rows


def moves(plan: Plan) -> str:
    """Content hashes before and after."""
    before = short(plan.before)
    return f"{before} stays" if plan.before == plan.after else f"{before} -> {short(plan.after)}"


def short(content: str) -> str:
    """The begin of a content hash; an uninstall has one of zeros."""
    return content[:SHORT] if content.strip("0") else "nothing"


def verdict(plan: Plan) -> str:
    """What it comes to, in one line."""
    counts = Counter(action.do for action in plan.actions)
    counts += Counter({"drop": len(plan.drops), MEND: len(plan.others)})
    if plan.blocked:
        return "blocked: see above"
    if not plan.status:
        left = f"; left as it is: {counted(counts)}" if counts else ""
        return f"nothing to change{left}"
    fresh = bool(plan.actions) and all(action.why == NEW for action in plan.actions)
    what = counted(counts)
    if plan.others and set(counts) <= {MEND, *LEFT}:
        what += ": " + "; ".join(line.partition(". ")[0] for line in plan.others)
    return f"{'fresh' if fresh else 'changes'}: {what}. Nothing was changed yet."


def counted(counts: dict[str, int]) -> str:
    """Numbers and their names, in one line; empty for none."""
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))

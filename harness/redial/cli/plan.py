"""A plan as text for a terminal."""

from __future__ import annotations

from collections import Counter

from redial.deploy.plan import LEFT, Action, Plan

_NEW = "not installed"


def shown(plan: Plan) -> str:
    """The plan, ready to print."""
    lines = [
        f"plan: configuration {plan.config}, database {' and '.join(plan.databases)}",
        f"  server   {plan.server}",
        f"  login    {plan.login}",
        f"  gate     {plan.gate}",
        f"  dialogs  {_counted(plan.dialogs) or 'none'}",
    ]
    if plan.drains:
        lines += ["", "choices that change; the gate closes and dialogs end before they do:"]
        lines += [f"  {line}" for line in plan.drains]
    new = [action for action in plan.actions if action.why == _NEW]
    rest = [action for action in plan.actions if action.why != _NEW]
    if new:
        kinds = Counter(action.kind for action in new)
        lines += ["", f"to create, for nothing of it is there: {_counted(kinds)}"]
    if rest:
        lines += ["", *(line for action in rest for line in _rows(action))]
    if plan.others:
        lines += ["", *(f"mend     {line}" for line in plan.others)]
    if plan.blocked:
        lines += ["", "BLOCKED: a deployment would be refused"]
        lines += [f"  {line}" for line in plan.blocked]
    return "\n".join([*lines, "", _verdict(plan), ""])


def _rows(action: Action) -> list[str]:
    """What is done, why, and what is in the way."""
    rows = [f"{action.do:<8} {action.what}  [{action.why}]"]
    if action.locks and action.do not in LEFT:
        rows.append(f"         locks: {action.locks}")
    if action.sql and action.do not in LEFT:
        rows.append(f"         runs: {action.sql}")
    return rows


def _verdict(plan: Plan) -> str:
    counts = Counter(action.do for action in plan.actions)
    if plan.blocked:
        return "blocked: see above"
    if not plan.status:
        left = f"; left as it is: {_counted(counts)}" if counts else ""
        return f"nothing to change{left}"
    return f"changes: {_counted(counts)}. Nothing was changed yet."


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))

"""Deadlock reports of the server in one sentence each."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

RING_BUFFER = (
    "SELECT t.target_data FROM sys.dm_xe_session_targets AS t "
    "INNER JOIN sys.dm_xe_sessions AS x ON x.address = t.event_session_address "
    "WHERE x.name = N'system_health' AND t.target_name = N'ring_buffer';"
)
"""system_health keeps the last reports in memory (page on the system_health session)."""

_LOCKS = {
    "keylock": "KEY",
    "objectlock": "OBJECT",
    "ridlock": "RID",
    "pagelock": "PAGE",
    "xactlock": "XACT",
}


def sentences(ring_buffer: str | None, schema: str) -> list[str]:
    """Every report in which a module of ``schema`` takes part, oldest first.

    ring_buffer: the target's XML; None or broken (the server cuts it off at 4 MB): no reports.
    """
    if not ring_buffer:
        return []
    try:
        root = ElementTree.fromstring(ring_buffer)
    except ElementTree.ParseError:
        return []
    found = []
    for report in root.iter("deadlock"):
        modules = [frame.get("procname", "") for frame in report.iter("frame")]
        if any(name.lower().split(".")[-2:-1] == [schema.lower()] for name in modules):
            found.append(_sentence(report))
    return found


def _sentence(report: Element) -> str:
    """Who holds what, who waits for it, and who was chosen."""
    names = {p.get("id", ""): _process(p) for p in report.iter("process")}
    parts = [_resource(r, names) for r in report.findall("resource-list/*")]
    victims = [names.get(v.get("id", ""), "?") for v in report.iter("victimProcess")]
    return f"{'; '.join(parts)}; victim: {', '.join(victims)}"


def _process(process: Element) -> str:
    """The innermost module of a process, and its session."""
    frame = process.find("executionStack/frame")
    name = frame.get("procname", "adhoc") if frame is not None else "adhoc"
    return f"{name.rpartition('.')[2]} (session {process.get('spid')})"


def _resource(resource: Element, names: dict[str, str]) -> str:
    """``KEY U of SessionConversations: held by ..., waited for by ...``."""
    kind = resource.get("subresource") or _LOCKS.get(resource.tag, resource.tag)
    under = resource.find("UnderlyingResource/*")  # of an xactlock: the row it is about
    table = ((resource if under is None else under).get("objectname") or "").rpartition(".")[2]
    owners = [
        f"{names.get(o.get('id', ''), '?')} holds {o.get('mode')}"
        for o in resource.findall("owner-list/owner")
    ]
    waiters = [
        f"{names.get(w.get('id', ''), '?')} wants {w.get('mode')}"
        for w in resource.findall("waiter-list/waiter")
    ]
    return f"{kind}{f' of {table}' if table else ''}: {', '.join(owners + waiters)}"

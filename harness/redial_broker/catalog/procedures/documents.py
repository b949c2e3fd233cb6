"""sp_xml_preparedocument and sp_xml_removedocument: documents OPENXML reads (their pages)."""

from __future__ import annotations

from lxml import etree

from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure
from redial_broker.engine.errors import SqlError
from redial_broker.exec.query.openxml import document

_STEP = 2
"""Handles are 1, 3, 5, ... and never given out twice in a session (observed, F-225)."""


@procedure("sp_xml_preparedocument", hdoc=None, xmltext=None, xpath_namespaces=None)
def prepare(call: Call) -> int:
    """Parse a document and keep it for the session; raises 6602 when it does not parse.

    xpath_namespaces: an element whose declarations name the prefixes patterns may use.
    """
    session = call.session
    text = call.text("xmltext") or "<empty/>"
    prefixes: tuple[tuple[str, str], ...] = ()
    try:
        document(text)
        if call["xpath_namespaces"] is not None:
            root = document(call.text("xpath_namespaces")).getroot()
            prefixes = tuple((prefix, uri) for prefix, uri in root.nsmap.items() if prefix)
    except etree.XMLSyntaxError as error:
        raise SqlError(6602, error.msg, state=2) from None
    session.engine.journal.save(session)
    handle = session.xml_documents.get("next", 1)
    session.xml_documents["next"] = handle + _STEP
    session.xml_documents[handle] = (text, prefixes)
    call.give("hdoc", handle)
    return 0


@procedure("sp_xml_removedocument", hdoc=REQUIRED)
def remove(call: Call) -> int:
    """Forget a document. Raises 8179 for a handle that is none of the session's."""
    session, handle = call.session, call.number("hdoc")
    if handle not in session.xml_documents:
        raise SqlError(8179, handle or 0, state=5)
    session.engine.journal.save(session)
    del session.xml_documents[handle]
    return 0

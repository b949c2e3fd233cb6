"""XML values: text kept serialized, parsed only when a method or a conversion needs it."""

from __future__ import annotations

from redial_broker.exec.xml.document import is_well_formed, xml_from_bytes, xml_from_text

__all__ = ["is_well_formed", "xml_from_bytes", "xml_from_text"]

"""Quoting, where templates ask for it; the functions are ``redial.quoting``'s."""

from redial.quoting import literal, message_text, quote_name, single_quoted, wrapped

__all__ = ["literal", "message_text", "quote_name", "single_quoted", "wrapped"]

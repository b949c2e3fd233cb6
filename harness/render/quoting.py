"""Quoting, where templates ask for it; the functions are ``harness.quoting``'s."""

from harness.quoting import literal, message_text, quote_name, single_quoted

__all__ = ["literal", "message_text", "quote_name", "single_quoted"]

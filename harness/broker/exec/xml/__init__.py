"""XML values: text kept serialized, parsed only when a method or a conversion needs it."""

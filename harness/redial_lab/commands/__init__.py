"""The commands of the laboratory."""

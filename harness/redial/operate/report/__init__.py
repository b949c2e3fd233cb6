"""One page on an installation: what was sent and what became of it, for whoever was not there."""

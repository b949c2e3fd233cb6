"""Which facts the shipped text rests on: what is open in docs/facts.md, and what came of it."""

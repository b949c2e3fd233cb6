"""How long a test waits for what may never come: bounds against hanging, never a claim about speed.

Long enough for a machine with other work to do. What a time-out itself does is tried with one
statement that never ends, and the time-out is that statement's alone.
"""

from __future__ import annotations

LOGIN = 300
"""Seconds of a log-in."""
HANGS = 1800
"""Seconds of a process; one that takes longer hangs."""

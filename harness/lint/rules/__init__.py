"""The rules, by code."""

from __future__ import annotations

from harness.lint.model import Rule
from harness.lint.rules.broker import BROKER
from harness.lint.rules.files import FILES
from harness.lint.rules.tables import TABLES
from harness.lint.rules.transactions import TRANSACTIONS

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted((*BROKER, *FILES, *TABLES, *TRANSACTIONS), key=lambda rule: rule.code)
}

"""The rules, by code."""

from __future__ import annotations

from redial.lint.model import Rule
from redial.lint.rules.broker import BROKER
from redial.lint.rules.files import FILES
from redial.lint.rules.queries import QUERIES
from redial.lint.rules.tables import TABLES
from redial.lint.rules.transactions import TRANSACTIONS

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted(
        (*BROKER, *FILES, *QUERIES, *TABLES, *TRANSACTIONS), key=lambda rule: rule.code
    )
}

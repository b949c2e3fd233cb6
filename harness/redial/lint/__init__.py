"""Lint for T-SQL around Service Broker: rules people have broken since 2007, with stable codes.

``files`` lints rendered scripts and anybody else's; ``plugin`` brings the same rules, and the
Service Broker grammar, to sqlfluff.
"""

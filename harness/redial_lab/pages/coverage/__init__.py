"""What the embedded broker covers: examples that are run, and the page generated from registries.

Knows the broker; nobody but the command line knows this package.
"""

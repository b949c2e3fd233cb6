"""What is searched for Redial: its configurations, callers, faults, claims and known-bad variants.

The explorer itself (``redial_lab.explore``) knows none of this.
"""

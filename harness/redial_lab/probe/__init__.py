"""Probes: one question to a server each, and what its answer says about the switches.

A probe is a T-SQL script in ``sql/probes`` that anybody can run by hand; this package runs them
against a server it knows by a small port only, and compares answers with the defaults.
"""

from redial_lab.probe.model import FOLDER, Finding, Port, Probe, ProbeError, probes
from redial_lab.probe.run import leftover, run

__all__ = ["FOLDER", "Finding", "Port", "Probe", "ProbeError", "leftover", "probes", "run"]

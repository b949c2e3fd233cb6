"""Deploying rendered scripts to a server: plan, apply, verify, uninstall."""

from redial.deploy.apply import DeployReport, apply, mend, uninstall
from redial.deploy.errors import DeployError
from redial.deploy.plan import Plan, plan
from redial.deploy.port import Connect, connect_odbc
from redial.deploy.verify import verify

__all__ = [
    "Connect",
    "DeployError",
    "DeployReport",
    "Plan",
    "apply",
    "connect_odbc",
    "mend",
    "plan",
    "uninstall",
    "verify",
]

"""Deploying rendered scripts to a server: plan, apply, verify, uninstall."""

from redial.deploy.apply import DeployReport, apply, uninstall
from redial.deploy.errors import DeployError
from redial.deploy.plan import Plan, Survey, plan, survey
from redial.deploy.port import Connect, connect_odbc
from redial.deploy.verify import verify

__all__ = [
    "Connect",
    "DeployError",
    "DeployReport",
    "Plan",
    "Survey",
    "apply",
    "connect_odbc",
    "plan",
    "survey",
    "uninstall",
    "verify",
]

"""Deploying rendered scripts to a server: apply, verify, uninstall."""

from redial.deploy.apply import DeployReport, apply, uninstall
from redial.deploy.errors import DeployError
from redial.deploy.port import Connect, connect_odbc
from redial.deploy.verify import verify

__all__ = [
    "Connect",
    "DeployError",
    "DeployReport",
    "apply",
    "connect_odbc",
    "uninstall",
    "verify",
]

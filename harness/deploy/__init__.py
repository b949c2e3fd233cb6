"""Deploying rendered scripts to a server: apply, verify, uninstall."""

from harness.deploy.apply import DeployReport, apply, uninstall
from harness.deploy.errors import DeployError
from harness.deploy.port import Connect, connect_odbc
from harness.deploy.verify import verify

__all__ = [
    "Connect",
    "DeployError",
    "DeployReport",
    "apply",
    "connect_odbc",
    "uninstall",
    "verify",
]

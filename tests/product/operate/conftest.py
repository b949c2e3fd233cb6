"""The broker of the tests of deployments: configuration audit is in it, as it was deployed."""

from tests.product.deploy.conftest import site, whole_site

__all__ = ["site", "whole_site"]

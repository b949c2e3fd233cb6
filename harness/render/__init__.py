"""Configs and templates to ``sql/generated``: deterministic, committed, checked."""

from harness.render.files import check, write
from harness.render.renderer import RenderError, render

__all__ = ["RenderError", "check", "render", "write"]

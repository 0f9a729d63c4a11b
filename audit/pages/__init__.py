"""Pages: a study's results, statistics and prose as Markdown or HTML, with figures.

Jinja2 and matplotlib are imported below this package only.
"""

from __future__ import annotations

from audit.pages.environment import shipped_templates
from audit.pages.page import Page
from audit.pages.render import Job, render

__all__ = ["Job", "Page", "render", "shipped_templates"]

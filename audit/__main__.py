"""``python -m audit``: the same as the ``audit`` command."""

from audit.cli.main import run

run()

"""How results, reports and analyses show themselves at a prompt and in a notebook.

What is shown is worded above the classes that are shown, so the words are looked up when somebody
asks for them, as the front door looks up its names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WORDS = "audit.notebook"


class Displayed:
    """A short ``repr``, and the same with its figures as HTML in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(_words().plain(self))

    def _repr_html_(self) -> str:
        return str(_words().page(self))


def _words() -> Any:
    return import_module(_WORDS)

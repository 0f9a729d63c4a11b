"""Jinja2's sandbox as pages use it: undefined names are errors, everything from data escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.exceptions import TemplateRuntimeError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from audit import numerals
from audit.errors import AuditError, UsageError, did_you_mean
from audit.pages import csv_cells, html, inline, latex, markdown
from audit.pages.csv_cells import Csv
from audit.pages.latex import Latex
from audit.pages.markdown import Markdown
from audit.paths import is_file
from audit.resources import resource
from audit.safetext import harmless, one_line

# Filters of Jinja2's own that neither build long strings nor write a number.
KEPT_FILTERS = [
    "abs",
    "capitalize",
    "count",
    "default",
    "dictsort",
    "first",
    "groupby",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "sort",
    "sum",
    "title",
    "trim",
    "unique",
    "upper",
]
_LARGEST_EXPONENT = 64
_LARGEST_FACTOR = 2**1024  # past every float; powers of powers would fill the memory
# Methods of text that could make a short expression fill the memory.
_WIDENING = frozenset(
    "center expandtabs format format_map join ljust replace rjust translate zfill".split()  # noqa: SIM905 - a list of words
)


def shipped_templates() -> tuple[str, ...]:
    """Return the names of the templates that come with audit."""
    folder = resource("templates")
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".j2")))


class PageEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox without attributes that change anything, and with a bound on products."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product or remainder of numbers; of text and lists it could grow too large."""
        numeric = all(isinstance(side, int | float) for side in (left, right))
        if not numeric or (operator == "**" and abs(right) > _LARGEST_EXPONENT):
            raise TemplateRuntimeError(f"{operator!r} is for numbers here")
        if any(isinstance(side, int) and abs(side) >= _LARGEST_FACTOR for side in (left, right)):
            raise TemplateRuntimeError(f"{operator!r}: the number is too large")
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> None:
        """Leave ``format`` to `is_safe_attribute`, which refuses it."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether an expression may use an attribute; none that changes or widens a value."""
        if isinstance(obj, str) and attr in _WIDENING:
            return False
        return super().is_safe_attribute(obj, attr, value)


class Templates(BaseLoader):
    """Templates shipped with audit, by name, and below the folder of the user's own."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's text and the name that messages show for it."""
        if set(template) & {"\\", ":"} or {"", ".."} & set(template.split("/")):
            raise TemplateNotFound(template)
        if self.folder is not None and is_file(self.folder / template):
            shown = str(self.folder / template)
            return _read(self.folder / template, shown), shown, lambda: True
        try:
            found = resource(f"templates/{template}")
        except OSError:  # none, or a name that no system takes
            raise TemplateNotFound(template) from None
        return _read(found, template), template, lambda: True


def _read(file: Any, shown: str) -> str:
    try:
        return str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8", path=shown) from None


def markdown_environment(folder: Path | None = None) -> PageEnvironment:
    """Return an environment whose output is Markdown; its values are escaped as text."""
    environment = _environment(folder, markdown, Markdown)
    environment.finalize = _markdown_value
    return environment


def html_environment(folder: Path | None = None) -> PageEnvironment:
    """Return an environment whose output is HTML; its values are escaped as text."""
    environment = _environment(folder, html, Markup)
    environment.autoescape = True
    environment.finalize = _html_value
    return environment


def latex_environment(folder: Path | None = None) -> PageEnvironment:
    """Return an environment whose output is LaTeX; its values are escaped as text."""
    environment = _environment(folder, latex, Latex)
    environment.finalize = _latex_value
    return environment


def csv_environment(folder: Path | None = None) -> PageEnvironment:
    """Return an environment whose output is CSV; numbers are written unrounded, None as nothing."""
    environment = _environment(folder, csv_cells, Csv)
    environment.finalize = _csv_value
    return environment


def prose_environment() -> PageEnvironment:
    """Return an environment for prose, whose values cannot be markup; it loads no template."""
    environment = _environment(None, None, str)
    environment.loader = None
    environment.finalize = _prose_value
    return environment


def _environment(
    folder: Path | None, dialect: ModuleType | None, safe: type[str]
) -> PageEnvironment:
    environment = PageEnvironment(
        loader=Templates(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    kept = {name: environment.filters[name] for name in KEPT_FILTERS}
    environment.filters = kept | {f.__name__: _safe(f, safe) for f in numerals.FILTERS}
    environment.globals = {}
    if dialect is not None:
        for write in (dialect.text, dialect.cell):
            environment.filters[write.__name__] = _kept(write, dialect, safe)
        for write in (dialect.code, dialect.link, dialect.block):
            environment.filters[write.__name__] = _checked(write)
    return environment


def _marked(safe: type[str]) -> Callable[[str], str]:
    """Return what makes a written number safe in an output: brackets and signs stay plain."""
    if safe is Markdown:
        # Between two dollar signs some hosts read mathematics.
        return lambda text: Markdown(text.replace("$", "\\$").replace("<", "&lt;"))
    written: dict[type[str], Callable[[str], str]] = {
        Markup: escape,
        Latex: latex.number,
        Csv: csv_cells.number,
    }
    return written.get(safe, str)


def _safe(write: Callable[..., str], safe: type[str]) -> Callable[..., str]:
    """Let a number filter's text pass as it is, and say what it was given when it fails."""
    mark = _marked(safe)

    @wraps(write)
    def written(value: Any, *rest: Any) -> str:
        try:
            return mark(write(value, *rest))
        except (TypeError, ValueError, OverflowError) as error:
            raise TemplateRuntimeError(f"{write.__name__}: {error}") from None

    return written


def _kept(write: Callable[..., str], dialect: ModuleType, safe: type[str]) -> Callable[..., str]:
    """Let a text filter keep the markup of prose and what is written already."""

    @wraps(write)
    def written(value: Any, *rest: Any) -> str:
        if isinstance(value, inline.Prose):
            return safe(value.written(dialect))
        return value if isinstance(value, safe) else write(_known(value), *rest)

    return written


def _checked(write: Callable[..., str]) -> Callable[..., str]:
    """Let a filter of code, links or blocks name what it was given and cannot write."""

    @wraps(write)
    def written(value: Any, *rest: Any) -> str:
        return write(_known(value), *(_known(argument) for argument in rest))

    return written


def _known(value: Any) -> Any:
    """Return a value that may be written; floats need a number filter, None a word instead."""
    if isinstance(value, StrictUndefined):
        str(value)  # raises, naming what is undefined
    if value is None:
        raise TemplateRuntimeError("the value is None; write what to show instead, with 'or'")
    if isinstance(value, float):
        raise TemplateRuntimeError(
            f"{value!r} is a bare number; a filter writes it, such as |fraction or |signed"
        )
    # What is no data would be written as Python spells it: an address, or bare fields.
    if not _is_data(value):
        kind = "a method" if callable(value) else f"a {type(value).__name__}"
        raise TemplateRuntimeError(f"the value is {kind}; write one of its fields or members")
    return value


def _is_data(value: Any) -> bool:
    """Whether a value is prose, or of the kinds that a file of JSON or TOML holds."""
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_data, value))
    return value is None or isinstance(value, str | int | float | date | inline.Prose)


def _markdown_value(value: Any) -> Any:
    if isinstance(value, Markdown):
        return value
    if isinstance(value, inline.Prose):
        return value.written(markdown)
    return markdown.text(_known(value))


def _html_value(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    if isinstance(value, inline.Prose):
        return Markup(value.written(html))
    return html.text(_known(value))


def _latex_value(value: Any) -> Any:
    if isinstance(value, Latex):
        return value
    if isinstance(value, inline.Prose):
        return Latex(value.written(latex))
    return latex.text(_known(value))


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return csv_cells.exact(value)
    if isinstance(value, Csv):
        return value
    return csv_cells.text(_known(value))


def _prose_value(value: Any) -> Any:
    return inline.shield(harmless(_known(value)))


@contextmanager
def one_line_errors(place: str, shift: int = 0) -> Iterator[None]:
    """Turn what goes wrong in a template into one line with its file and line.

    ``place`` names a template given as text; ``shift`` is added to its line numbers.
    """
    try:
        yield
    except TemplateNotFound as error:
        hint = did_you_mean(str(error.name), shipped_templates())
        raise UsageError(f"no template {error.name!r}{hint}; audit templates lists them") from None
    except TemplateSyntaxError as error:
        name, text = error.filename or place, error.message or "syntax error"
        raise UsageError(text, path=name, line=error.lineno + shift) from None
    except (AuditError, MemoryError, KeyboardInterrupt):
        raise
    except RecursionError:
        raise UsageError("the template calls itself without end", path=place) from None
    except Exception as error:
        found = _template_frame(error)
        if found is None:
            raise
        name, line = found
        text = f"{one_line(str(error))[:300]}"
        raise UsageError(text, path=name or place, line=line + shift) from None


def _template_frame(error: Exception) -> tuple[str, int] | None:
    """Return the innermost template line an error came through; None for a fault of our own."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        code, module = trace.tb_frame.f_code, trace.tb_frame.f_globals
        if "__jinja_exception__" in module:  # Jinja2 rewrites its frames to the template's lines
            found = (code.co_filename, trace.tb_lineno)
        elif found and "/audit/pages/figures/" in code.co_filename.replace("\\", "/"):
            return None
        trace = trace.tb_next
    if found is None:
        return ("", 0) if isinstance(error, TemplateError) else None
    name, line = found
    return ("" if name == "<template>" else name, line)

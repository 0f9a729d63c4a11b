"""Other tools' files: one importer a format, and what any file looks like.

Every importer module has ``sniff(document, name) -> bool`` and ``read(files, options) -> Draft``;
:mod:`audit.importers.study` puts the drafts together into one results document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import AuditError, UsageError, did_you_mean
from audit.importers import (
    every_eval_ever,
    inspect_ai,
    lm_eval,
    long_table,
    marl_eval,
    per_item,
    promptfoo,
    seed_lists,
    step_log,
    trainer_state,
    whileai,
    wide_table,
)
from audit.importers.draft import Draft, Options
from audit.importers.foreign import Foreign, ForeignTable, from_source
from audit.reading import Source


@dataclass(frozen=True, slots=True)
class Importer:
    """One format: the name `audit import` takes, what it is in words, and how it is read."""

    name: str
    what: str
    sniff: Callable[[Any, str], bool]
    read: Callable[[Sequence[Foreign], Options], Draft]


# In the order they are asked: the more particular before the more general.
IMPORTERS: tuple[Importer, ...] = (
    Importer("whileai", "the results of a whileai recipe", whileai.sniff, whileai.read),
    Importer("inspect", "an Inspect evaluation log", inspect_ai.sniff, inspect_ai.read),
    Importer(
        "every-eval-ever",
        "an Every Eval Ever record",
        every_eval_ever.sniff,
        every_eval_ever.read,
    ),
    Importer("promptfoo", "a promptfoo evaluation", promptfoo.sniff, promptfoo.read),
    Importer("lm-eval", "lm-evaluation-harness output", lm_eval.sniff, lm_eval.read),
    Importer(
        "trainer-state",
        "a Hugging Face Trainer's training log",
        trainer_state.sniff,
        trainer_state.read,
    ),
    Importer("step-log", "a log of figures by step", step_log.sniff, step_log.read),
    Importer("per-item", "one run's answers on one benchmark", per_item.sniff, per_item.read),
    Importer(
        "seed-lists",
        "a summary with lists of one value per seed",
        seed_lists.sniff,
        seed_lists.read,
    ),
    Importer("marl-eval", "marl-eval output", marl_eval.sniff, marl_eval.read),
    Importer("wide-table", "a wide table of seed scores", wide_table.sniff, wide_table.read),
    Importer("long-table", "a long table of outcomes", long_table.sniff, long_table.read),
)

_OTHER_NAMES = {
    "lm-evaluation-harness": "lm-eval",
    "inspect-ai": "inspect",
    "eee": "every-eval-ever",
    "long": "long-table",
    "wide": "wide-table",
    "trl": "trainer-state",
}


def importer(name: str) -> Importer:
    """Return an importer by its name, or by another name it goes by.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    plain = name.lower().replace("_", "-")
    plain = _OTHER_NAMES.get(plain, plain)
    for entry in IMPORTERS:
        if entry.name == plain:
            return entry
    names = ", ".join(entry.name for entry in IMPORTERS)
    hint = did_you_mean(plain, [entry.name for entry in IMPORTERS])
    raise UsageError(f"no file, folder or importer {name!r}{hint}; there are {names}")


def fitting(content: Any, name: str) -> Importer | None:
    """Return the first importer that a file's content fits."""
    return next((entry for entry in IMPORTERS if entry.sniff(content, name)), None)


def describe(document: Any, name: str) -> str:
    """Return what a JSON document without ``schema_version`` looks like.

    Parameters
    ----------
    document : object
        The parsed document.
    name : str
        The file as the user named it, for the command that brings it over.

    Returns
    -------
    str
        The tail of a sentence, empty where the document is of no known kind.
    """
    from audit.importers.sniff import other_kind

    found = fitting(document, name)
    if found is not None:
        return f"; it looks like {found.what}{_advice(found.name, name)}"
    what = other_kind(document)
    return "" if what is None else f"; it looks like {what}"


def describe_source(source: Source) -> str | None:
    """Return what bytes that are no JSON look like, or None where they are of no known kind."""
    from audit.importers.sniff import other_text

    what = other_text(source)
    try:
        content = from_source(source).content
    except AuditError:
        return what
    found = fitting(content, source.name)
    if found is not None:
        return f"{found.what}{_advice(found.name, source.name)}"
    if what is not None and isinstance(content, ForeignTable):
        return f"{what}; `audit import long-table {source.name} --map value=NAME` may read it"
    return what


def _advice(kind: str, name: str) -> str:
    return f"; `audit import {kind} {name}` brings it over"

"""Which part of a home-made record plays which role, by its name or by what the user says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import plain
from audit.importers.readers.found import Found
from audit.importers.readers.home_records import Record, role_value
from audit.importers.readers.values import outcome_of

# In order of precedence.
NAMES: dict[str, tuple[str, ...]] = {
    "arm": ("arm", "method", "recipe", "algo", "algorithm", "variant", "condition", "group"),
    "seed": ("train_seed", "training_seed", "seed", "random_seed", "rng_seed"),
    "task": (
        *("task_id", "question_id", "qid", "example_id", "problem_id", "instance_id", "doc_id"),
        *("unique_id", "id", "idx", "index", "task", "question", "problem", "prompt", "@key"),
    ),
    "right": (
        *("correct", "is_correct", "right", "is_right", "passed", "pass", "success", "resolved"),
        *("acc", "accuracy", "exact_match", "em", "grade", "judgement", "verified"),
    ),
    "score": ("score", "reward", "value", "f1"),
    "parsed": ("parsed", "has_answer", "format_ok", "is_parsable"),
    "unparsed": ("unparsed", "no_answer"),
    "error": ("error", "errored", "exception", "failure"),
    "truncated": ("truncated", "is_truncated"),
    "benchmark": ("benchmark", "dataset", "eval_name", "task_set"),
    "run": ("run_id", "run_name", "run"),
    "step": ("checkpoint_step", "global_step"),
    "status": ("status", "state"),
    "examples": ("n", "n_examples", "num_examples", "n_total", "total", "examples", "n_samples"),
}
MODELS = ("model", "model_path", "model_name", "checkpoint", "checkpoint_path")
_ANSWER_NUMBERS = ("seed", "run", "trial", "sample", "repeat", "rollout", "attempt")
_LETTERS = {
    frozenset("CIPN"): {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0},
    frozenset({"CORRECT", "INCORRECT", "NOT_ATTEMPTED"}): {
        "CORRECT": 1.0,
        "INCORRECT": 0.0,
        "NOT_ATTEMPTED": 0.0,
    },
}
_LETTER_COLUMNS = frozenset({"grade", "judgement", "verdict", "score", "label"})
_UNPARSED = frozenset({"N", "NOT_ATTEMPTED"})


class Roles:
    """The roles of one file's records.

    Parameters
    ----------
    records : sequence of dict
    said : mapping
        Role to pointer, as the user says it.
    found : Found

    Attributes
    ----------
    absent : frozenset of str
        Roles whose pointer, as the user gave it, leads to nothing in this file.
    """

    def __init__(self, records: Sequence[Record], said: Mapping[str, str], found: Found) -> None:
        self.records, self.found, self.said = records, found, said
        # Reversed, so that of two spellings the first in the file wins.
        words = {plain(k) if k != "@key" else k: k for k in reversed(self._columns())}
        self.pointers: dict[str, str] = {}
        for role, names in NAMES.items():
            named = [words[name] for name in names if name in words]
            if role in said:
                self.pointers[role] = said[role]
            elif role == "task":
                telling = [n for n in named if self._tells_tasks(n)]
                if telling:
                    self.pointers[role] = telling[0]
            elif named and named[0] not in self.pointers.values():
                self.pointers[role] = named[0]
        if "value" in said:
            self.pointers["score"] = said["value"]
            self.pointers.pop("right", None)
        self.letters = self._letter_values()
        self.absent = frozenset(
            role
            for role, pointer in said.items()
            if role != "records" and all(role_value(r, pointer, found) is None for r in records)
        )

    def _tells_tasks(self, column: str) -> bool:
        values = {str(record.get(column)) for record in self.records if column in record}
        return len(values) > 1

    def of(self, record: Record, role: str) -> Any:
        """Return a record's value of a role; None where there is none."""
        pointer = self.pointers.get(role)
        return None if pointer is None else role_value(record, pointer, self.found)

    @property
    def outcome(self) -> str | None:
        """The role that says right or wrong, else the score."""
        return next((role for role in ("right", "score") if role in self.pointers), None)

    def _letter_values(self) -> dict[str, float] | None:
        """Return the letters' values where a column of verdicts holds letter grades alone.

        C among A to E is an answer, so letters count only in a column of verdicts, and only with
        a letter beside C that no answer has.
        """
        role = self.outcome
        pointer = self.pointers.get(role) if role else None
        if pointer is None or plain(pointer.rsplit("/", 1)[-1]) not in _LETTER_COLUMNS:
            return None
        values = {str(self.of(r, str(role))).strip() for r in self.records}
        for letters, meaning in _LETTERS.items():
            if values <= letters and values & (letters - {"C"}):
                return meaning
        return None

    def value(self, record: Record) -> float | list[float | None] | None:
        """Return a record's outcome; a list of outcomes is one a drawn answer."""
        raw = self.of(record, self.outcome or "right")
        if self.letters is not None:
            return self.letters.get(str(raw).strip())
        if isinstance(raw, list) and len(raw) > 1:
            return [outcome_of(entry) for entry in raw]
        return outcome_of(raw)

    def unparsed(self, record: Record) -> bool:
        """Whether no answer was found in the response."""
        if self.letters is not None:
            return str(self.of(record, self.outcome or "right")).strip() in _UNPARSED
        parsed, lost = (
            outcome_of(self.of(record, "parsed")),
            outcome_of(self.of(record, "unparsed")),
        )
        return parsed == 0.0 if parsed is not None else bool(lost)

    @property
    def says(self) -> list[str]:
        """The flags the records tell."""
        parsed = self.letters is not None or {"parsed", "unparsed"} & set(self.pointers)
        return [
            *(["unparsed"] if parsed else []),
            *(["errored"] if "error" in self.pointers else []),
            *(["truncated"] if "truncated" in self.pointers else []),
        ]

    def refuse_unclear(self) -> None:
        """Refuse records whose outcome or task is unclear, with the candidates and the flag.

        Raises
        ------
        ImportRefused
        """
        for role in ("right", "score", "value", "task"):
            if role in self.absent:
                raise ImportRefused(self.nothing_at(role), path=self.found.name)
        if self.outcome is None or self._text_outcome():
            raise ImportRefused(self._no_outcome(), path=self.found.name)
        if self._unreadable_outcome():
            raise ImportRefused(self._no_outcome(), path=self.found.name)
        if "task" not in self.pointers:
            raise ImportRefused(self._no_task(), path=self.found.name)
        if "right" in self.pointers and "right" not in self.said:
            self._refuse_two_outcomes()

    def _unreadable_outcome(self) -> bool:
        """Whether the column of outcomes holds something, and nowhere right, wrong or a score."""
        there = [r for r in self.records if self.of(r, self.outcome or "") not in (None, "")]
        return bool(there) and all(self.value(record) is None for record in there)

    def nothing_at(self, role: str) -> str:
        """Say that a pointer which the user gave leads nowhere, and what is there."""
        there = ", ".join(self._columns()[:12]) or "nothing"
        return (
            f"nothing at --map {role}={self.said[role]} in any of {len(self.records)} records, "
            f"which have {there}"
        )

    def _text_outcome(self) -> bool:
        """Whether JSON, which has true and false, says the outcome in words: then it is asked."""
        typed = self.found.base.endswith((".json", ".jsonl", ".ndjson"))
        if not typed or self.letters is not None or {"right", "score", "value"} & set(self.said):
            return False
        return any(isinstance(self.of(r, self.outcome or ""), str) for r in self.records)

    def _no_outcome(self) -> str:
        found = []
        for column in sorted(self._columns(), key=lambda name: plain(name) not in NAMES["right"]):
            values = [r[column] for r in self.records if r.get(column) is not None]
            shown = _described(values)
            if shown:
                found.append((column, shown))
        listed = ", ".join(f"{column} ({shown})" for column, shown in found) or "nothing"
        first = found[0][0] if found else "COLUMN"
        return (
            f"no column is the outcome; of {len(self.records)} records: {listed}: "
            f"--map right=/{first}"
        )

    def _columns(self) -> list[str]:
        """Return the columns that most records have; the others are those of summaries."""
        counts = Counter(key for record in self.records for key in record)
        return [key for key, count in counts.items() if count * 2 >= len(self.records)]

    def _no_task(self) -> str:
        counts = {c: len({str(r.get(c)) for r in self.records}) for c in self._columns()}
        shown = ", ".join(f"{c} has {n} values" for c, n in list(counts.items())[:6])
        best = max(counts, key=lambda c: counts[c], default="COLUMN")
        return f"no column tells tasks apart: {shown}: --map task=/{best}"

    def _refuse_two_outcomes(self) -> None:
        words = {plain(k): k for record in self.records[:50] for k in record}
        named = [words[name] for name in NAMES["right"] if name in words]
        for other in named[1:]:
            both = [r for r in self.records if named[0] in r and other in r]
            differ = sum(outcome_of(r[named[0]]) != outcome_of(r[other]) for r in both)
            if differ:
                raise ImportRefused(
                    f"{named[0]} and {other} are both outcomes and disagree in {differ} of "
                    f"{len(self.records)}: --map right=/{named[0]} or --map right=/{other}",
                    path=self.found.name,
                )


def _described(values: Sequence[Any]) -> str | None:
    """Return what a column holds in a few words, None where it can be no outcome."""
    if not values:
        return None
    if all(isinstance(value, bool) for value in values):
        return "true, false"
    if all(isinstance(value, str) for value in values):
        kinds = sorted(set(values))
        return f"text: {', '.join(kinds)}" if len(kinds) <= 4 else None
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == len(values) and len(set(numbers)) <= max(2, len(values) // 2):
        return f"numbers {min(numbers):g} to {max(numbers):g}"
    return None

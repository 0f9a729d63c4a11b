"""Results of a whileai recipe: one file is one study, with its arms, seeds and printed verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from statistics import fmean
from typing import Any

from audit.errors import ImportRefused, UsageError
from audit.importers import telemetry
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import (
    ACCURACY,
    is_accuracy,
    reading_of,
    refuse_impossible_pass_at_k,
)
from audit.importers.notes import Notes
from audit.importers.numbers import (
    fits_count,
    fraction_of_percent,
    half_last_digit,
    integer,
    number,
    on_lattice,
    spread_note,
    whole,
)

TOP = "recipe"
BASE = "base"
_READ = frozenset(
    [
        "recipe",
        "base_model",
        "metric",
        "n_holdout",
        "n_train",
        "k",
        "arms",
        "delta",
        "checks",
        "gpu",
        "usd",
        "verified",
        "whileai",
        "run_url",
        "seeds",
        "train_trace",
        "sampler",
        "rounds",
        "python",
    ]
)
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")


def sniff(document: Any, name: str) -> bool:
    """Whether a JSON document is a recipe's results."""
    if not isinstance(document, dict) or "recipe" not in document:
        return False
    return "whileai" in document or isinstance(document.get("arms"), dict)


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read one recipe's results.

    Raises
    ------
    UsageError
        When more than one file is given: each is a study of its own.
    ImportRefused
        When there is no trained arm, or an arm's runs cannot be told apart.
    """
    if len(files) > 1:
        raise UsageError("each whileai file is a study of its own; import one at a time")
    return _Recipe(files[0], options).draft()


class _Recipe:
    """One recipe's document while it is read."""

    def __init__(self, file: Foreign, options: Options) -> None:
        self.path = file.name
        self.document: dict[str, Any] = file.content
        self.options = options
        self.notes = Notes()
        for note in file.notes:
            self.notes.say(note)
        self.checks = _mapping(self.document.get("checks"))
        printed = self.document.get("metric")
        self.metric = printed if isinstance(printed, str) and printed else ACCURACY
        self.name = ACCURACY if is_accuracy(self.metric) else self.metric
        self.samples = integer(self.document.get("k"))
        refuse_impossible_pass_at_k(self.metric, self.samples, self.path)
        self.percent = options.scale == (0, 100)
        self.reported: dict[str, dict[str, Any]] = {}

    def draft(self) -> Draft:
        arms = self._arms()
        runs = [run for name, arm in arms.items() for run in self._arm(name, arm)]
        if self.name != self.metric:
            self.notes.say(
                f"{self.metric} is the share of right answers: brought over as {ACCURACY}"
            )
        method = TOP if TOP in arms else self._only_trained(runs)
        left = sorted(set(self.document) - _READ)
        if left:
            self.notes.say("not carried over: " + ", ".join(left))
        comparisons = list(self._comparisons())
        return Draft(
            tool="whileai",
            version=_text(self.document.get("whileai")),
            study=_text(self.document.get("recipe")),
            runs=tuple(runs),
            method=method,
            roles={name: "control" if name == "baseline" else "other" for name in arms},
            top=self._top(comparisons, {run.arm for run in runs if not run.base}),
            metrics=self._metrics(runs),
            reported=self._reported(comparisons),
            notes=self.notes.lines,
        )

    def _refuse(self, message: str, pointer: str = "") -> ImportRefused:
        return ImportRefused(message, path=self.path, pointer=pointer)

    def _arms(self) -> dict[str, dict[str, Any]]:
        arms = self.document.get("arms")
        if not isinstance(arms, dict) or not arms:
            raise self._refuse(
                "no arms: the file compares candidates of a search, none of them a training run"
            )
        read = {name: arm for name, arm in arms.items() if isinstance(arm, dict)}
        trained = [n for n in read if not self._untrained(n, read[n])]
        if not trained:
            raise self._refuse("no arm was trained: every one has 0 steps, so there is no run")
        if TOP in read and TOP not in trained:
            raise self._refuse(f"the arm {TOP} was not trained (0 steps)", f"/arms/{TOP}")
        return read

    def _untrained(self, name: str, arm: Mapping[str, Any]) -> bool:
        return name == BASE or arm.get("steps") == 0

    def _only_trained(self, runs: Sequence[DraftRun]) -> str | None:
        names = dict.fromkeys(run.arm for run in runs if not run.base)
        return next(iter(names), None) if len(names) == 1 else None

    def _arm(self, name: str, arm: dict[str, Any]) -> Iterator[DraftRun]:
        score = self._share(arm.get("score"), f"{name}.score")
        self.reported[name] = self._printed(arm, score)
        if name == BASE:
            yield from self._base(score, arm)
        elif self._untrained(name, arm):
            self.notes.say(f"{name}: not trained; its printed figures stand under reported")
        elif "per_seed" in arm and arm["per_seed"] not in (None, [], {}):
            yield from self._runs_of_seeds(name, arm, score)
        elif score is None:
            self.notes.say(f"{name}: no score, so no run")
        else:
            yield self._single(name, arm, score)

    def _share(self, value: Any, what: str) -> float | None:
        score = number(value)
        if score is None:
            if value is not None:
                self.notes.missing(what)
            return None
        if self.percent:
            score = fraction_of_percent(score)
        if self.name == ACCURACY and not 0 <= score <= 1:
            raise self._refuse(f"{what} is {value:g}, outside 0 to 1; --scale 0-100 for percent")
        return score

    def _printed(self, arm: Mapping[str, Any], score: float | None) -> dict[str, Any]:
        low, high = _pair(arm.get("ci"))
        mean = self._share(arm.get("score_mean_over_seeds"), "score_mean_over_seeds")
        seeds = arm.get("per_seed")
        if mean is not None and isinstance(seeds, list | dict):
            # The printed differences are then over seeds too.
            return {"score": mean, "seeds": len(seeds)}
        fields = {
            "score": score,
            "low": low,
            "high": high,
            "pass_at_k": number(arm.get("pass_at_k")),
        }
        return {key: value for key, value in fields.items() if value is not None}

    def _base(self, score: float | None, arm: Mapping[str, Any]) -> Iterator[DraftRun]:
        again = next(
            (a for a in (self.checks.get("base_runs_pass_at_1"), arm.get("reruns")) if a), None
        )
        listed = again if isinstance(again, list) else []
        shares = [self._share(value, f"{BASE} again") for value in listed]
        scores = [score for score in shares if score is not None]
        if not scores and score is not None:
            scores = [score]
        elif scores and score is not None and min(abs(s - score) for s in scores) > 1e-9:
            self.notes.say("base: its score is none of its re-evaluations, which are brought over")
        for index, value in enumerate(scores):
            block: dict[str, Any] = {"run": BASE if len(scores) == 1 else f"{BASE}-{index + 1}"}
            block["method_metrics"] = self._measured(value, arm, BASE, self.name)
            yield DraftRun(block, BASE, None, base=True)

    def _runs_of_seeds(
        self, name: str, arm: dict[str, Any], score: float | None
    ) -> Iterator[DraftRun]:
        listed = arm["per_seed"]
        if not isinstance(listed, list | dict):
            raise self._refuse("per_seed is neither a list nor a table", f"/arms/{name}/per_seed")
        entries = list(listed.values()) if isinstance(listed, dict) else listed
        labels = self._labels(name, listed)
        found = [e.get("score") if isinstance(e, dict) else e for e in entries]
        scores = [self._share(s, f"{name}.per_seed") for s in found]
        known = [s for s in scores if s is not None]
        self._say_whose(name, arm, score, known)
        self._check_count(name, len(entries))
        traces = self._traces(name, len(entries))
        passes = arm.get("per_seed_pass_at_k")
        for index, (label, value, entry) in enumerate(zip(labels, scores, entries, strict=True)):
            if value is None:
                continue
            figures = dict(entry) if isinstance(entry, dict) else {}
            if isinstance(passes, list) and len(passes) == len(entries):
                figures["pass_at_k"] = passes[index]
            yield self._run(name, label, value, {"n": arm.get("n")} | figures, traces[index])

    def _labels(self, name: str, listed: list[Any] | dict[str, Any]) -> list[int | str | None]:
        if isinstance(listed, dict):
            return [int(key) if re.fullmatch(r"\d{1,15}", key) else key for key in listed]
        declared = self._declared(name)
        if isinstance(declared, list) and len(declared) == len(listed):
            self.notes.say(
                f"{name}: per_seed is labelled by the file's own list of seeds, in order"
            )
            return list(declared)
        self.notes.say(f"{name}: per_seed lists {len(listed)}, which it gives no seed numbers")
        return [None] * len(listed)

    def _declared(self, name: str) -> int | list[int] | None:
        """Return the seeds the file declares for an arm: labels, a count, or None."""
        declared = self.checks.get("train_seeds")
        if isinstance(declared, dict):
            declared = declared.get(name)
        if declared is None:
            declared = self.document.get("seeds")
        if isinstance(declared, list):
            whole_numbers = [integer(seed) for seed in declared]
            labels = [seed for seed in whole_numbers if seed is not None]
            return labels if len(labels) == len(declared) else len(declared)
        return integer(declared)

    def _check_count(self, name: str, count: int) -> None:
        declared = self._declared(name)
        said = len(declared) if isinstance(declared, list) else declared
        if said is not None and said != count:
            self.notes.say(f"{name}: train_seeds says {said}, per_seed holds {count}")

    def _say_whose(
        self, name: str, arm: Mapping[str, Any], score: float | None, scores: Sequence[float]
    ) -> None:
        """Tell a score that is one seed's from a mean of seeds, by the numbers alone."""
        printed = number(arm.get("score_mean_over_seeds", arm.get("pooled_score")))
        note = spread_note(scores, printed, number(arm.get("score_sd_over_seeds")))
        if note:
            self.notes.say(f"{name}: {note}")
        if score is None or len(scores) < 2:
            return
        grain = half_last_digit(scores) + 1e-9
        matches = [i for i, value in enumerate(scores) if abs(value - score) <= grain]
        mean = fmean(scores)
        is_mean = abs(mean - score) <= grain
        if is_mean and matches:
            self.notes.say(f"{name}: its score is both per_seed/{matches[0]} and the mean of seeds")
        elif is_mean:
            self.reported[name].setdefault("seeds", len(scores))
            self.notes.say(f"{name}: its score is the mean of {len(scores)} seeds")
        elif matches:
            self.reported[name].setdefault("seeds", 1)
            self.notes.say(
                f"{name}: its score and interval are those of one seed (per_seed/{matches[0]}), "
                f"not of {len(scores)}; the mean is {mean:.6g}"
            )
        else:
            self.notes.say(
                f"{name}: its score {score:g} is neither a seed's nor the mean of "
                f"{len(scores)} seeds, {mean:.6g}"
            )

    def _single(self, name: str, arm: dict[str, Any], score: float) -> DraftRun:
        declared = self._declared(name)
        count = len(declared) if isinstance(declared, list) else declared
        if count is not None and count > 1:
            raise self._refuse(self._inseparable(name, arm, score, count), f"/arms/{name}/score")
        label: int | None = declared[0] if isinstance(declared, list) and declared else None
        if label is None:
            label = integer(self.checks.get("train_seed"))
        if count is None:
            self.notes.say(f"{name}: the file does not say how many seeds; one score is one run")
        else:
            self.reported[name]["seeds"] = count
        return self._run(name, label, score, arm, self._traces(name, 1)[0])

    def _inseparable(self, name: str, arm: Mapping[str, Any], score: float, count: int) -> str:
        total = self._total(arm)
        whose = "it may be one seed's or a mean"
        if total and not on_lattice(score, total):
            whose = f"it is no whole count out of {total}, so it is a mean of seeds"
        return f"{name}: {count} seeds but one score, and no per_seed; {whose}"

    def _total(self, arm: Mapping[str, Any]) -> int | None:
        examples = integer(arm.get("n")) or integer(self.document.get("n_holdout"))
        return examples * (self.samples or 1) if examples else None

    def _run(
        self,
        name: str,
        label: int | str | None,
        score: float,
        figures: dict[str, Any],
        trace: Any,
    ) -> DraftRun:
        block: dict[str, Any] = {}
        if isinstance(label, str):
            block["run_id"] = label
        block["method_metrics"] = self._measured(score, figures, name, self.name)
        if self.name != ACCURACY:
            block["evaluation"] = {"metric": self.name}
        block |= telemetry.of_columns(trace, f"{self.path}: {name}", self.notes)
        cost = {
            "minutes": number(figures.get("gpu_minutes")),
            "usd": number(figures.get("usd")),
            "device": _text(self.document.get("gpu")),
        }
        if cost["minutes"] is not None:
            block["cost"] = {key: value for key, value in cost.items() if value is not None}
        # The recipe's own lists are of trainings: per_seed and train_seeds say so.
        seed = label if isinstance(label, int) else None
        return DraftRun(block, name, seed, identified_by="user")

    def _measured(
        self, score: float, figures: Mapping[str, Any], where: str, name: str = ACCURACY
    ) -> dict[str, Any]:
        block: dict[str, Any] = {name: score}
        total = self._total(figures)
        if total and name == ACCURACY:
            if fits_count(score, total, Decimal(repr(score)), percent=False):
                block["examples"] = total
            else:
                self.notes.say(
                    f"{where}: {score:g} is no whole count out of {total}, to the digits it is "
                    "printed to, so examples are left out"
                )
        cut = number(figures.get("truncated"))
        if cut is not None and total and whole(cut * total) is not None and "examples" in block:
            block["truncated_responses"] = whole(cut * total)
        passed = number(figures.get("pass_at_k"))
        if passed is not None and self.samples and where != BASE:
            block[f"pass@{self.samples}"] = passed
        return block

    def _traces(self, name: str, count: int) -> list[Any]:
        for key in ("train_trace", "sampler"):
            listed = _mapping(self.document.get(key)).get(name)
            if isinstance(listed, dict):
                listed = list(listed.values())
            if isinstance(listed, list) and len(listed) == count:
                return listed
        return [None] * count

    def _metrics(self, runs: Sequence[DraftRun]) -> dict[str, dict[str, Any]]:
        names = {n for run in runs for n in run.document.get("method_metrics", {})}
        found = {name: reading_of(name) for name in sorted(names)}
        return {name: reading for name, reading in found.items() if reading}

    def _comparisons(self) -> Iterator[dict[str, Any]]:
        delta = _mapping(self.document.get("delta"))
        plain = [key for key, value in delta.items() if "_vs_" in key and number(value) is not None]
        owner = f"{TOP}_vs_baseline" if f"{TOP}_vs_baseline" in plain else next(iter(plain), "")
        seen: set[tuple[str, str]] = set()
        for key, value in delta.items():
            arm, _, against = key.removesuffix("_detail").partition("_vs_")
            if not against or (arm, against) in seen:
                continue
            if isinstance(value, dict):
                seen.add((arm, against))
                yield self._detailed(arm, against, value)
            elif number(value) is not None:
                seen.add((arm, against))
                printed = delta if key == owner else {}
                yield self._comparison(arm, against, value, printed.get("ci"), printed)

    def _detailed(self, arm: str, against: str, value: dict[str, Any]) -> dict[str, Any]:
        """Return the difference over seeds where it is printed, else that of single seeds."""
        if number(value.get("across_seeds")) is None:
            return self._comparison(arm, against, value.get("delta"), value.get("ci"), value)
        over_seeds = {"verdict": value.get("verdict")}
        interval = value.get("across_seeds_ci")
        return self._comparison(arm, against, value["across_seeds"], interval, over_seeds)

    def _comparison(
        self, arm: str, against: str, delta: Any, ci: Any, printed: Mapping[str, Any]
    ) -> dict[str, Any]:
        low, high = _pair(ci)
        fields = {
            "arm": arm,
            "against": against,
            "delta": number(delta),
            "low": low,
            "high": high,
            "tasks": integer(printed.get("n_paired_tasks")),
            "verdict": _text(printed.get("verdict")),
        }
        return {key: value for key, value in fields.items() if value is not None}

    def _reported(self, comparisons: list[dict[str, Any]]) -> dict[str, Any]:
        spread = number(self.checks.get("run_std"))
        block: dict[str, Any] = {}
        if spread is not None:
            block = {"run_std": spread, "run_std_runs": integer(self.checks.get("run_std_runs"))}
        block |= {"arms": self.reported, "comparisons": comparisons}
        return {key: value for key, value in block.items() if value not in (None, [], {})}

    def _top(self, comparisons: list[dict[str, Any]], arms: set[str | None]) -> dict[str, Any]:
        document = self.document
        holdout = {
            "train_rows": integer(document.get("n_train")),
            "holdout_rows": integer(document.get("n_holdout")),
            "dropped": integer(self.checks.get("decontaminated_dropped")),
        }
        model = _text(document.get("base_model"))
        blocks: dict[str, Any] = {
            "checkpoint": {"public_id": model} if model else None,
            "holdout": {key: value for key, value in holdout.items() if value is not None},
            "claims": self._claims(comparisons, arms),
            "rounds": list(_rounds(document.get("rounds"))),
            "verified": self._verified(),
        }
        return {key: value for key, value in blocks.items() if value not in (None, [], {})}

    def _claims(
        self, comparisons: list[dict[str, Any]], arms: set[str | None]
    ) -> list[dict[str, Any]]:
        """Return a claim for each difference the source itself published as moved."""
        claims: dict[str, dict[str, Any]] = {}
        for printed in comparisons:
            arm, against, delta = printed["arm"], printed["against"], printed.get("delta")
            if printed.get("verdict") != "moved" or not delta or not {arm, against} <= arms:
                continue
            direction = "gain" if delta > 0 else "loss"
            claims.setdefault(
                f"{arm}_vs_{against}",
                {
                    "id": f"{arm}_vs_{against}",
                    "metric": self.name,
                    "arm": arm,
                    "against": against,
                    "direction": direction,
                },
            )
            self.notes.say(f"{arm} over {against}: published as moved, brought over as a claim")
        return list(claims.values())

    def _verified(self) -> dict[str, Any]:
        date, url = _text(self.document.get("verified")), _text(self.document.get("run_url"))
        versions = _pins(self.checks.get("pins"))
        if "whileai" in self.document:
            versions.setdefault("whileai", str(self.document["whileai"]))
        block = {
            "date": date if date and _DATE.match(date) else None,
            "versions": versions,
            "usd": number(self.document.get("usd")),
            "url": url if url and url.startswith(("http://", "https://")) else None,
        }
        return {key: value for key, value in block.items() if value not in (None, {})}


def _rounds(listed: Any) -> Iterator[dict[str, Any]]:
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict):
            yield _round(entry, index)


def _round(entry: dict[str, Any], index: int) -> dict[str, Any]:
    arms = _mapping(entry.get("scores") or entry.get("arms"))
    scores = {
        name: number(arm.get("score") if isinstance(arm, dict) else arm)
        for name, arm in arms.items()
    }
    delta, ci, verdict = entry.get("delta"), entry.get("ci"), entry.get("verdict")
    if isinstance(delta, dict):
        ci, verdict = delta.get("ci", ci), delta.get("verdict", verdict)
        plain = (v for k, v in delta.items() if "_vs_" in k and number(v) is not None)
        delta = delta.get("value", next(plain, None))
    low, high = _pair(ci)
    interval = {"value": number(delta), "low": low, "high": high}
    seeds = _mapping(entry.get("train_seeds") or entry.get("seeds_per_arm"))
    counts = {n: len(s) if isinstance(s, list) else integer(s) for n, s in seeds.items()}
    repeats = entry.get("replicates")
    name = entry.get("id", entry.get("round"))
    block: dict[str, Any] = {
        "id": name if isinstance(name, int | str) and not isinstance(name, bool) else index + 1,
        "change": _text(entry.get("change") or entry.get("what_changed")),
        "replicates": repeats if isinstance(repeats, int | str) else None,
        "scores": {arm: score for arm, score in scores.items() if score is not None},
        "seeds_per_arm": {arm: count for arm, count in counts.items() if count is not None},
        "delta": {key: value for key, value in interval.items() if value is not None},
        "verdict": _text(verdict),
    }
    return {key: value for key, value in block.items() if value not in (None, {}, [])}


def _pins(pins: Any) -> dict[str, str]:
    """Return versions by package, from a table or from text like "torch 2.7.1, trl 0.19.1"."""
    if isinstance(pins, dict):
        return {str(name): str(version) for name, version in pins.items() if version is not None}
    words = (part.replace("==", " ").split() for part in str(pins or "").split(","))
    return {pair[0]: pair[1] for pair in words if len(pair) == 2}


def _pair(ci: Any) -> tuple[float | None, float | None]:
    if isinstance(ci, list) and len(ci) == 2:
        return number(ci[0]), number(ci[1])
    return None, None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

"""Which files hold runs of one study: they share an actual training run, not just a name."""

from __future__ import annotations

from audit.facts.memo import once
from audit.results import Results


@once
def run_keys(results: Results) -> frozenset[str]:
    """Return what tells the training runs of a file apart from those of all other studies.

    Two files with a key in common are one study in two files. A key is the hash of a run's final
    parameters, its run id together with its seed, or the hash of a file that was converted.
    """
    keys = set()
    for run in results.runs:
        final = run.document.get("final_parameters_sha256")
        if final:
            keys.add(f"parameters {final}")
        if run.run_id is not None and run.seed is not None:
            keys.add(f"run {run.run_id} seed {run.seed}")
    imported = results.block("provenance").get("imported")
    for source in (imported or {}).get("files") or ():
        if isinstance(source, dict) and source.get("sha256"):
            keys.add(f"source {source['sha256']}")
    return frozenset(keys)

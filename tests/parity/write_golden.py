"""Write a golden folder's `reference.yaml`: what the reference makes of it, never our renderer.

    .venv/bin/python -m tests.parity.write_golden tests/render/golden/NAME ...

Each folder has trainjob.yaml, runtime.yaml (without one: the reference's own manifest of that
name) and, where the cluster must have more, existing.yaml. API defaults are applied to both. The file holds the objects in canonical form (canonical.py)
in a fixed order, each variant where the reference's random order of plugins makes several; a
TrainJob that it refuses has its errors instead.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml

from tests.parity import canonical, defaults, reference, runtimes
from tests.parity.reference import Case, Outcome

JSON = dict[str, Any]
RUNS: Final = 40
"""Runs of a case in which every variant that it has is seen."""


def main() -> None:
    """Write reference.yaml into each folder named on the command line."""
    for name in sys.argv[1:]:
        folder = Path(name)
        (outcomes,) = reference.run([case_of(folder)], repeat=RUNS)
        (folder / "reference.yaml").write_text(text_of(outcomes), encoding="utf-8")


def case_of(folder: Path) -> Case:
    """The case that a golden folder describes."""
    job = yaml.safe_load((folder / "trainjob.yaml").read_text(encoding="utf-8"))
    path = folder / "runtime.yaml"
    runtime = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else _shipped(job)
    there = folder / "existing.yaml"
    existing = tuple(yaml.safe_load_all(there.read_text("utf-8"))) if there.exists() else ()
    return Case(defaults.applied(job), defaults.applied(runtime), existing=existing)


def text_of(outcomes: Iterable[Outcome]) -> str:
    """The text of reference.yaml.

    Raises:
        RuntimeError: The reference crashes on the case, or cannot build it.
    """
    variants = sorted({_text(each) for each in outcomes})
    head = "# Written by tests/parity/write_golden.py from the reference.\n"
    if len(variants) == 1:
        return head + variants[0]
    parts = [f"# Variant {n} of {len(variants)}.\n{each}" for n, each in enumerate(variants, 1)]
    return head + "---\n".join(parts)


def _text(outcome: Outcome) -> str:
    if outcome.panic or (outcome.build_error and not outcome.errors):
        raise RuntimeError(f"the reference fails: {outcome.panic or outcome.build_error}")
    refused = [*outcome.runtime_errors, *outcome.errors]
    if refused:
        errors = [{key: each[key] for key in ("type", "field", "detail")} for each in refused]
        return yaml.safe_dump({"errors": sorted(errors, key=str)}, sort_keys=False)
    objects = canonical.objects(outcome.objects)
    return yaml.safe_dump_all([objects[key] for key in sorted(objects)], sort_keys=False)


def _shipped(job: JSON) -> JSON:
    name = job["spec"]["runtimeRef"]["name"]
    for text in runtimes.shipped():
        runtime: JSON = yaml.safe_load(text)
        if runtime["metadata"]["name"] == name:
            return runtime
    raise RuntimeError(f"the reference ships no runtime {name!r}: add a runtime.yaml")


if __name__ == "__main__":
    main()

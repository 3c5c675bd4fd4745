"""framework-label: a runtime has the label that the SDK chooses it by, as its mlPolicy says."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.launch_warnings import FRAMEWORKS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole
from trainer_infra.rules.shape import jobs

_TORCH: Final = "torch"
_TORCHTUNE: Final = "torchtune"
_NEEDS: Final = {
    _TORCH: _TORCH,
    _TORCHTUNE: _TORCH,
    "jax": "jax",
    "xgboost": "xgboost",
    "flux": "flux",
}
"""The policy without which a framework's processes do not find one another, by label.

Not `deepspeed` and `mlx`, which start with torchrun as well as with mpirun.
"""


def _check(runtime: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    label = runtime.at("metadata", "labels", names.FRAMEWORK_LABEL)
    # The framework that the mlPolicy has; empty for none.
    found = runtime.at("spec", "mlPolicy")
    policy, written = (
        next((each for each in FRAMEWORKS if found[each].is_there()), ""),
        label.text(),
    )
    if not written:
        framework = _framework(runtime, policy)
        others = "the framework, such as deepspeed or mlx" if policy else "plain, if it is of none"
        fix = f"write {framework or others}"
        patch = label.set_to(framework) if framework else ()
        yield label.finding("is missing: the SDK does not see the runtime", None, fix, patch)
    elif _NEEDS.get(written, policy) != policy:
        what = f"does not agree with the mlPolicy, which is {policy or 'of no framework'}"
        fix = f"write the framework of that policy, or set mlPolicy.{_NEEDS[written]}"
        yield label.finding(what, written, fix)


def _framework(runtime: Value, policy: str) -> str:
    """What the label must be; empty where the policy does not say it."""
    if policy != _TORCH:
        return policy if policy in _NEEDS else ""
    tunes = any(
        container["command"].texts()[: len(names.TUNE_RUN)] == names.TUNE_RUN
        for job in runtime.at(*jobs.IN_RUNTIME).items()
        for container in jobs.pod_spec(job)["containers"].items()
    )
    return _TORCHTUNE if tunes else _TORCH


RULE: Final = Rule(
    id="framework-label",
    title="Runtimes have the framework label, as their mlPolicy says",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES,
    tags=("shape", "sdk"),
    why=(
        "The Kubeflow SDK skips a runtime without the label, and starts another program on one "
        "whose label is another framework's."
    ),
    fix=f"Set the label {names.FRAMEWORK_LABEL} to the framework that the mlPolicy is of.",
    places=whole,
    check=_check,
    remediates=True,
)

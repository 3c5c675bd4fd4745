"""quoted-strings: a text that YAML would read as a number or a boolean is in quotes."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import faults
from trainer_infra.rules.faults import Fault
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(fault: Fault, _context: Context[Parameters]) -> Iterator[Finding]:
    if not fault.wants_quotes:
        return
    got, raw = fault.finding.got, fault.value.raw
    if isinstance(got, int) and not isinstance(got, bool):
        # Other numbers and booleans were written in a way that is lost: 1.10, 1e3, no, on.
        patch = fault.value.set_to(str(raw)) if raw is got else ()
        fix = "put it in quotes"
    else:
        patch, fix = (), "put it in quotes, as it is to be read: 1.10, no and on are lost otherwise"
    yield fault.value.finding(fault.finding.what, fault.got, fix, patch)


RULE: Final = Rule(
    id="quoted-strings",
    title="Strings that YAML reads as numbers or booleans must be quoted",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | names.QUEUEING_KINDS,
    tags=("shape", "schema", "kueue", "volcano"),
    why=(
        "The API server rejects a number or a boolean where it expects a string; tools that "
        "convert it write `1.1` for `1.10` and `true` for `on`."
    ),
    fix='Put the value in quotes: `"1.10"` or `"on"`.',
    places=faults.faults_of,
    check=_check,
    remediates=True,
)

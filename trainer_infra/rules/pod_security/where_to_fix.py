"""What a runtime lacks can be made right in two places."""

from dataclasses import replace

from trainer_infra.rules.finding import Finding


def where_to_fix(
    finding: Finding, where: str = "in the runtime or in spec.runtimePatches"
) -> Finding:
    """The finding; one about the runtime says where it can be made right.

    Args:
        finding: Of a place that may be the runtime's.
        where: Where it can be made right then.
    """
    if not finding.inherited:
        return finding
    return replace(finding, fix=f"{finding.fix}, {where}")

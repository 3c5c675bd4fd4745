"""How far apart the metrics of several runs are, and whose are the least and the most: the best so far of a sweep.

Which of the two is the better one, only the program knows. Pure.
"""

from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run

SHOWN: Final = 2
"""Metrics of a line: a terminal is narrow."""


def metric_spans(runs: Mapping[str, Run]) -> str:
    """`accuracy 0.71 (lr-1) to 0.93 (lr-0.1)`; empty where no two runs differ.

    Args:
        runs: those that ended well, by the name of the member.
    """
    values: dict[str, dict[str, float]] = {}
    for member, run in runs.items():
        for metric, text in sentences.last_metrics(run).items():
            number = sentences.number_of(text)
            if number is not None and metric != names.SAMPLES_PER_SECOND:
                values.setdefault(metric, {})[member] = number
    spans = []
    for metric, each in values.items():
        least, most = (choose(each, key=lambda name: each[name]) for choose in (min, max))
        if each[least] != each[most]:
            shown = (f"{sentences.number_shown(each[one])} ({one})" for one in (least, most))
            spans.append(f"{metric} {' to '.join(shown)}")
    return ", ".join(spans[:SHOWN])

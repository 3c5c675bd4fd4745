"""Learns to tell Python code from English, line by line, by which characters follow one another.

A logistic regression without any package: the English is Python's own manual, the code its modules.
"""

import argparse
import inspect
import math
import random
import typing
from pydoc_data.topics import topics

from trainer_infra.report import report


def train(epochs: int, rate: float) -> None:
    """Train on most lines, and report after each epoch how many of the others it classifies right."""
    seen, held_out = data()
    weights: dict[str, float] = {}
    for epoch in range(1, epochs + 1):
        for line, is_python in seen:
            step = rate * (is_python - probability(weights, line))
            for pair in pairs(line):
                weights[pair] = weights.get(pair, 0.0) + step
        told = [(probability(weights, line) > 0.5) == is_python for line, is_python in held_out]
        report(progress=100 * epoch // epochs, accuracy=round(sum(told) / len(told), 3))


def data() -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Lines, each with whether it is Python: 8,000 to learn from, 2,000 that are held out."""
    english = "\n".join(topics.values())
    python = "\n".join(inspect.getsource(module) for module in (argparse, inspect, typing))
    lines = [(line, False) for line in english.splitlines() if line.strip()]
    lines += [(line, True) for line in python.splitlines() if line.strip()]
    random.Random(0).shuffle(lines)
    return lines[:8000], lines[8000:10000]


def probability(weights: dict[str, float], line: str) -> float:
    """How likely it is that a line is Python."""
    score = sum(weights.get(pair, 0.0) for pair in pairs(line))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def pairs(line: str) -> set[str]:
    """The pairs of characters in a line, without what it is indented by."""
    text = line.strip()
    return {text[index : index + 2] for index in range(len(text) - 1)}

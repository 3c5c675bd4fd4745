"""What the pods of a job ask for beyond what a queue can ever give."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shortage:
    """More is asked for than there can be."""

    resource: str
    """Of which resource."""
    asked: int
    """By all pods that were counted, in billionths."""
    room: int
    """The most that there can be, in billionths."""
    limit: str
    """What limits it, a clause."""

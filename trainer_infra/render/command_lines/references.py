"""Variables in a command line: `$(NAME)`, which the kubelet replaces, and `$NAME`, which a shell does.

Facts: Kubernetes' "Define a command and arguments for a container" and "Define dependent environment
variables": a `$(NAME)` that is not a variable of the container stays as it is, `$$(NAME)` is none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra import names

Fault = tuple[str, str]
"""What is wrong with a word or a program, and what to do about it."""
UNREAD: Final = "\0"
"""Stands in a word for what is known only when it runs."""
OF_LAUNCHER: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables that torchrun and mpirun's kin give to what they start, and v1 gave to containers."""
OF_OTHER_NODES: Final = (
    *("PET_", "MASTER_ADDR", "NODE_RANK", "JOB_COMPLETION_INDEX", "ACCELERATE_CONFIG"),
)
"""Names in a command line or among a user's variables by which a program finds the other nodes itself."""
_INSTEAD: Final = {
    "RANK": "PET_NODE_RANK",
    "NODE_RANK": "PET_NODE_RANK",
    "WORLD_SIZE": "PET_NNODES",
    "MASTER_ADDR": "PET_MASTER_ADDR",
    "MASTER_PORT": "PET_MASTER_PORT",
}
_BY_SHELL: Final = "start the command by sh -c, or write the value"
_OF_KUBELET: Final = re.compile(r"\$(\$?)\(([A-Za-z_][\w.-]*)\)")
_OF_SHELL: Final = re.compile(r"(?<![\\$])\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(:?[-=]([^{}]*))?\})")
_LITERAL: Final = re.compile(r"(?<![\\$])\$(?:([A-Z][A-Z0-9_]+)\b|\{([A-Z][A-Z0-9_]+)\})")
_SUBSTITUTION: Final = re.compile(r"\$\([^()]*[\s|/][^()]*\)|`[^`]+`")
"""What a shell would run, and put its output there."""
_WRITTEN_LIKE_A_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_OF_SERVICE: Final = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)")
"""Variables that the kubelet makes of each Service of the namespace."""


@dataclass(frozen=True, slots=True)
class ContainerVariables:
    """The variables of a container."""

    values: Mapping[str, str | None]
    """By name; None where the value is known only when it runs."""
    are_all: bool = True
    """Whether there are no others, as an `envFrom` or an image may bring."""

    def tell_of_nodes(self) -> bool:
        """Whether the user says by them where the other nodes are; what torch's policy fills is not that."""
        own = (each for each in self.values if each not in names.TORCH_VARIABLES)
        return any(name.startswith(OF_OTHER_NODES) for name in own)


NONE_KNOWN: Final = ContainerVariables({}, are_all=False)


def after_kubelet(word: str, variables: ContainerVariables) -> tuple[str, tuple[Fault, ...]]:
    """The word as the container's process gets it, and the `$(NAME)` that nothing replaces."""
    missing = []

    def replaced(match: re.Match[str]) -> str:
        name = match[2]
        if match[1]:
            return f"$({name})"
        if name in variables.values:
            value = variables.values[name]
            return UNREAD if value is None else value
        if _WRITTEN_LIKE_A_VARIABLE.fullmatch(name):
            if not variables.are_all or (_OF_SERVICE.fullmatch(name) and name not in OF_LAUNCHER):
                return UNREAD
            what = f"the container has no variable {name}, so that $({name}) stays as it is"
            missing.append((what, _fix(name, variables, "$({})")))
        return match[0]

    return _OF_KUBELET.sub(replaced, word), tuple(missing)


def after_shell(text: str, variables: ContainerVariables) -> tuple[str, tuple[Fault, ...]]:
    """A part of a script that a shell expands, with the variables replaced whose values are known."""
    missing = []

    def replaced(match: re.Match[str]) -> str:
        name, default = match[1] or match[2], match[4]
        if name in variables.values:
            value = variables.values[name]
            return UNREAD if value is None else value
        if match[3] and name in OF_LAUNCHER and default is not None:
            return str(default)
        # An image may bring any other.
        if name in OF_LAUNCHER or name.startswith("PET_"):
            what = f"the shell has no variable {name}, so that ${name} is empty"
            missing.append((what, _fix(name, variables, "${}")))
        return UNREAD

    return _OF_SHELL.sub(replaced, text), tuple(missing)


def literal(word: str, variables: ContainerVariables) -> tuple[Fault, ...]:
    """The `$NAME` and `$(command)` of a word that no shell reads: the program gets it as it stands here."""
    names_in = dict.fromkeys(match[1] or match[2] for match in _LITERAL.finditer(word))
    found = [(f"${name}", _fix(name, variables, "$({})", _BY_SHELL)) for name in names_in]
    found += [(match[0], _BY_SHELL) for match in _SUBSTITUTION.finditer(word)]
    return tuple(
        (f"no shell reads this word, so that {text} stays as it is", fix) for text, fix in found
    )


def _fix(
    name: str,
    variables: ContainerVariables,
    form: str,
    otherwise: str = "add it to env, or correct its name",
) -> str:
    if name in variables.values:
        return f"write {form.format(name)}"
    instead = _INSTEAD.get(name, "")
    if instead in variables.values:
        return f"write {form.format(instead)}"
    if name.startswith("PET_"):
        return "add the container to mlPolicy.torch.envInjection.targets, or leave the variable out"
    if name in OF_LAUNCHER:
        return "leave it out: torchrun gives it to the processes that it starts"
    return otherwise

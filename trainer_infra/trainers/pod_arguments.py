"""What every trainer but CustomTrainer says of the pods that it trains in, and what spec.trainer has of it.

Called by `container_trainer` and `libraries`, whose trainers inherit it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom import custom_trainer, env_and_args, packages
from trainer_infra.trainers.input import Input
from trainer_infra.trainers.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class PodArguments:
    """Counts, resources and environment of the pods; of their Python also the packages."""

    num_nodes: Input[int | None] = None
    """Pods; the runtime's number when not given."""
    num_proc_per_node: Input[int | None] = None
    """Processes in each pod; the runtime's rule when not given."""
    resources_per_node: Input[Mapping[str, Any] | None] = None
    """Amounts of each pod, for example `{"cpu": 1, "gpu": 2, "memory": "4Gi"}`, or
    ResourceRequirements with `requests` and `limits`."""
    env: Input[Mapping[str, Input[str] | Secret | Mapping[str, Any]] | None] = None
    """Env variables: text, handed over exactly, a Secret, or `{"valueFrom": ...}`."""
    image: Input[str | None] = None
    """Container image; the runtime's when not given."""

    def pod_problems(self) -> Iterator[Problem]:
        """What is wrong with them, in the order of the fields."""
        yield from custom_trainer.whole_number("num_nodes", as_python(self.num_nodes))
        yield from custom_trainer.whole_number(
            "num_proc_per_node", as_python(self.num_proc_per_node)
        )
        for path in ("resources_per_node", "env"):
            value = as_python(getattr(self, path)) or {}
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                yield Problem(path, "must be a mapping with text keys", got=value)
            elif path == "env":
                yield from env_and_args.env_problems(value)
            else:
                yield from custom_trainer.resource_problems(value)
        if self.image is not None and (not isinstance(self.image, str) or not self.image):
            yield Problem("image", "must be an image's name", got=self.image)

    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
        """`spec.trainer` in wire form, with the arguments of its program."""
        resources, env = as_python(self.resources_per_node), as_python(self.env)
        made = {
            "image": self.image,
            "args": [env_and_args.literal_text(each) for each in args] or None,
            "env": env_and_args.env_entries(env or {}) or None,
            "numNodes": as_python(self.num_nodes),
            "numProcPerNode": as_python(self.num_proc_per_node),
            "resourcesPerNode": custom_trainer.resource_requirements(resources)
            if resources
            else None,
        }
        return {key: value for key, value in made.items() if value is not None}

    def secret_data(self) -> dict[str, Any]:
        """Values of secret env variables, by their keys in the job's own Secret."""
        return {
            env_and_args.secret_key(name): value.value
            for name, value in (as_python(self.env) or {}).items()
            if isinstance(value, Secret)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPodArguments(PodArguments):
    """The same, of pods whose Python gets packages."""

    packages: Input[Sequence[Input[str]] | None] = None
    """Pinned requirements, `name==version`."""
    pip_index_urls: Input[Sequence[Input[str]] | None] = None
    """Indexes that they come from, without credentials: the first replaces the installer's own, the
    rest are asked as well."""

    def python_problems(self) -> Iterator[Problem]:
        """What is wrong with the packages."""
        named, urls = as_python(self.packages), as_python(self.pip_index_urls)
        for path, given in (("packages", named), ("pip_index_urls", urls)):
            if not isinstance(given, list | tuple | None):
                yield Problem(path, "must be a list of texts", got=given)
                return
        yield from packages.requirement_problems(named or ())
        yield from packages.index_problems(urls or (), named or ())

    def requirement_lines(self) -> tuple[str, ...]:
        """Lines of a requirements file."""
        return packages.requirement_lines(
            as_python(self.packages) or (), as_python(self.pip_index_urls) or ()
        )

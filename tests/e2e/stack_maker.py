"""Pulumi projects whose runs go to a namespace of a real cluster."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.engine.backend import StackFiles


@dataclass(frozen=True)
class StackMaker:
    """What the projects of one test have in common."""

    folder: Path
    """In which each has its own."""
    env: Mapping[str, str]
    namespace: Namespace
    image: str
    """Of their pods."""

    def make(
        self,
        kind: Callable[[Path, Mapping[str, str]], Stack],
        name: str,
        project: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Stack:
        """A project with a stack named `test`.

        Args:
            kind: what does the stack's commands.
            name: of the project's folder.
            project: its name, where that is another.
            env: variables besides those that all have.
        """
        folder = self.folder / name
        folder.mkdir()
        # `gc` finds runs by project and stack, whoever's they are: tests run side by side.
        named = f"name: {project or name}-{self.namespace.name}\nruntime: python\n"
        (folder / "Pulumi.yaml").write_text(named)
        stack = kind(folder, {**self.env, **(env or {})})
        stack.run("stack", "init")
        self._send_to_cluster(stack)
        place = {"ns": self.namespace.name, "image": self.image}
        (folder / "place.json").write_text(json.dumps(place))
        return stack

    def _send_to_cluster(self, stack: Stack) -> None:
        """Set what two commands would, in the file that the CLI and the engine read."""
        backend = Path(stack.env["PULUMI_BACKEND_URL"].removeprefix("file://"))
        files = StackFiles(stack.folder, stack.name, backend)
        files.set("trainer:target", "kubernetes")
        files.set("trainer:kubeconfig", str(self.namespace.kubeconfig))

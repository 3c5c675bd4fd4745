"""Who uses the published SDK: a service account with the rights that its calls need, and no more."""

import json
import secrets
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

from from_source.cluster import kubectl, python
from tests.e2e import accounts
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import LONG
from trainer_infra import names

JSON = dict[str, Any]

_AUTHORIZATION: Final = "rbac.authorization.k8s.io"

IN_NAMESPACE: Final = (
    (names.GROUP, ["trainjobs"], ["create", "get", "list", "delete"]),
    (names.GROUP, ["trainingruntimes"], ["get", "list"]),
    ("", ["pods", "events"], ["list"]),
    ("", ["pods/log"], ["get"]),
)
"""What the SDK's calls need (SDK contract 2.1): API group, resources and verbs.

The version of the control plane is for everyone who is signed in, by the control plane's own Role.
"""
IN_CLUSTER: Final = ((names.GROUP, ["clustertrainingruntimes"], ["get", "list"]),)


@dataclass(frozen=True)
class Answer:
    """What came of some calls."""

    value: Any
    printed: str
    """What the SDK printed."""
    warnings: list[str]
    """What it logged, of which a user is shown warnings."""
    error: JSON | None
    """Type, message, cause, and the cause's HTTP status."""


class Sdk:
    """A Python of its own that has the SDK and nothing of ours."""

    def __init__(self) -> None:
        self._process = self._started()

    @staticmethod
    def _started() -> "subprocess.Popen[str]":
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        packages = python.environment("kubeflow", version)
        program = Path(__file__).with_name("interpreter.py")
        return subprocess.Popen(
            # Without site: what this Python has installed is not the SDK's.
            [sys.executable, "-S", str(program)],
            env={"PYTHONPATH": str(packages), "HOME": "/nonexistent"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> Answer:
        """Send a request of interpreter.py."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        # Longer than what a request itself waits.
        ready, _, _ = select.select([answers], [], [], LONG + 60)
        if not ready:
            # Its answer would be taken for that of the next request.
            self.close()
            self._process = self._started()
        assert ready, f"the SDK did not return:\n{request['code']}"
        line = answers.readline()
        assert line, "the SDK's Python ended"
        return Answer(**json.loads(line))

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@dataclass(frozen=True)
class User:
    """One namespace, and who may use the SDK in it."""

    namespace: Namespace
    sdk: Sdk
    config: Path
    """The user's kubeconfig."""

    def answer(self, code: str, **given: Any) -> Answer:
        """Run code with `client`; `given` are further names in it."""
        return self.sdk.ask(
            config=str(self.config), namespace=self.namespace.name, code=dedent(code), given=given
        )

    def run(self, code: str, **given: Any) -> Any:
        """What the code returns."""
        answer = self.answer(code, **given)
        assert answer.error is None, answer.error
        return answer.value

    def refused(self, code: str, **given: Any) -> JSON:
        """The error that the code raises."""
        answer = self.answer(code, **given)
        assert answer.error is not None, answer.value
        return answer.error

    def apply(self, *objects: JSON) -> None:
        """Make objects, as an administrator."""
        whole = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.namespace.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(whole))

    def stored(self, name: str, kind: str = "trainjobs") -> JSON:
        """An object of the namespace, as an administrator sees it."""
        return self.namespace.one(kind, name)

    def ended(self, name: str) -> str:
        """The status of a TrainJob once it has ended."""
        code = """
            ends = {"Complete", "Failed"}
            return client.wait_for_job_status(name, ends, timeout=240, polling_interval=1).status
        """
        status: str = self.run(code, name=name)
        return status


@contextmanager
def signed_in(sdk: Sdk, kubeconfig: Path, folder: Path) -> Iterator[User]:
    """A namespace with such a user, deleted afterwards with all that is in it.

    Args:
        sdk: what it uses.
        kubeconfig: of an administrator.
        folder: gets the user's kubeconfig.
    """
    namespace = Namespace(f"sdk-{secrets.token_hex(4)}", kubeconfig, kubectl.program())
    namespace.make()
    user = User(namespace, sdk, folder / f"{namespace.name}.yaml")
    user.apply(*_account(namespace.name))
    token = namespace.kubectl("create", "token", "user").strip()
    user.config.touch(mode=0o600)
    user.config.write_text(json.dumps(accounts.config(kubeconfig, token)))
    try:
        yield user
    finally:
        cluster_wide = (f"clusterrole/{namespace.name}", f"clusterrolebinding/{namespace.name}")
        namespace.kubectl("delete", *cluster_wide, f"namespace/{namespace.name}", "--wait=false")


def _account(namespace: str) -> Iterator[JSON]:
    kinds = (("Role", "user", IN_NAMESPACE), ("ClusterRole", namespace, IN_CLUSTER))
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "user"}}
    subject = {"kind": "ServiceAccount", "name": "user", "namespace": namespace}
    for kind, name, rules in kinds:
        head = {"apiVersion": f"{_AUTHORIZATION}/v1", "metadata": {"name": name}}
        role = {"apiGroup": _AUTHORIZATION, "kind": kind, "name": name}
        yield {**head, "kind": kind, "rules": [_rule(*each) for each in rules]}
        yield {**head, "kind": f"{kind}Binding", "roleRef": role, "subjects": [subject]}


def _rule(group: str, resources: list[str], verbs: list[str]) -> JSON:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}

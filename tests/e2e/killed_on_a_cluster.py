"""How programs, pods and the kubelet of a run on a cluster are killed by force."""

from contextlib import suppress
from functools import partial

from from_source.cluster import up
from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.killed_by_force import TRAINING, Kill, Struck, completed, strike
from tests.e2e.test_outputs_and_retry import CLAIM


def pod_of(namespace: Namespace, struck: Struck, node: int) -> str:
    """The name of a node's pod."""
    start = f"{struck.name}-node-0-{node}-"
    (found,) = (
        each["metadata"]["name"]
        for each in namespace.all("pods")
        if each["metadata"]["name"].startswith(start) and each["status"]["phase"] == "Running"
    )
    return str(found)


def kill_there(program: str, namespace: Namespace, struck: Struck, node: int) -> None:
    """Kill a program in a pod, as the kernel does that has no memory left."""
    each = f'case "$2" in */{program}.py) kill -9 ${{pid#/proc/}};; esac'
    ours = f"for pid in /proc/[0-9]*; do set -- $(tr '\\0' ' ' < $pid/cmdline); {each}; done"
    with suppress(AssertionError):
        # The pod may be gone before its shell has ended.
        namespace.kubectl("exec", pod_of(namespace, struck, node), "--", "sh", "-c", ours)


def kill_kubelet(namespace: Namespace, struck: Struck, node: int) -> None:
    """And a program while it is away: the next kubelet finds that the container has ended."""
    kubelet = up.component("kubelet")
    kill_there("main", namespace, struck, node)
    kubelet.kill()
    kubelet.start()


def delete_by_force(namespace: Namespace, struck: Struck, node: int) -> None:
    """As a user does who does not want to wait."""
    pod = pod_of(namespace, struck, node)
    namespace.kubectl("delete", "pod", pod, "--force", "--grace-period=0")


def strike_on_a_cluster(
    stack: Stack, namespace: Namespace, times: int, *, kubelet: bool = False
) -> None:
    """Kill a run as often, in all ways in turn; the kubelet too where no one else has it."""
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    stack.run("config", "set", "trainer:outputs", "pvc://models")
    runs, more = ("saves", "starts-anew"), 'image=place["image"], resources_per_node={"cpu": "50m"}'
    jobs = (
        f'TrainJob("{each}", namespace=NS, outputs=["ends"], **counting({each == "saves"}, {more}))'
        for each in runs
    )
    stack.program("\n".join((PROGRAM, TRAINING, *jobs)))
    stack.up()
    struck = {
        each: Struck(stack, stack.job(each)["name"], ("-n", namespace.name), saves=each == "saves")
        for each in runs
    }
    ways: dict[str, Kill] = {
        "rank": partial(kill_there, "main", namespace),
        "pod": partial(delete_by_force, namespace),
    }
    if kubelet:
        ways["kubelet"] = partial(kill_kubelet, namespace)
    strike(struck, ways, times)
    for each in struck.values():
        pod = eventually(partial(pod_of, namespace, each, 0))
        namespace.kubectl("exec", pod, "--", "sh", "-c", 'touch "$TRAINER_INFRA_OUTPUT_ENDS/now"')
        completed(each)

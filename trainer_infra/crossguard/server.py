"""A pack as the engine asks it: what it sends is read once for all policies.

pulumi_policy reads the properties of a resource anew for each of its policies, and those of the whole
stack for each stack policy, which was most of what a pack costs; all else is its own. Here a policy
gets the properties as they came, which `values.plain_value` reads, and the same object as all others
get: `verdicts` judges it for all of them. Called by `policy_pack` and `policy_form`.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import grpc
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyResource,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import _PolicyAnalyzerServicer
from typing_extensions import override

Report = Callable[..., None]
"""Called with a message, and for a stack with the URN that it is about."""

_VERSION: Final = "0.0.1"
"""The one that counts stands in PulumiPolicy.yaml."""
_WORKERS: Final = 4
"""Resources that are judged at the same time, as many as pulumi_policy has."""
_LARGEST_MESSAGE: Final = 400 * 1024 * 1024
"""Bytes of a message at most; a whole stack is one. That of pulumi_policy."""


class AfterAll(StackValidationPolicy):
    """The mandatory half of a policy that mends: it judges what is deployed in the end.

    It is asked while the other one mends, with the configuration of that, which may be Pulumi's own.
    """

    mends: Policy


class Servicer(_PolicyAnalyzerServicer):
    """Answers the engine."""

    def __init__(self, name: str, policies: Sequence[Policy], description: str = "") -> None:
        """Take a pack.

        Args:
            name: Name of the pack.
            policies: All of them have a `validate` that is no coroutine.
            description: Whom the pack is for.
        """
        level = EnforcementLevel.ADVISORY
        super().__init__(name, _VERSION, list(policies), level, description=description)
        self._policies = tuple(policies)

    @override
    def Analyze(self, request: Any, _context: Any) -> analyzer_pb2.AnalyzeResponse:
        """What the policies say of a resource."""
        response = analyzer_pb2.AnalyzeResponse()
        properties, options = request.properties, self._get_resource_options(request)
        for policy, report in self._asked(ResourceValidationPolicy, response):
            config = self._get_policy_config(policy.name)
            of_resource = (request.type, properties, request.urn, request.name, options, None)
            policy.validate(ResourceValidationArgs(*of_resource, config), report)
        return response

    @override
    def AnalyzeStack(self, request: Any, _context: Any) -> analyzer_pb2.AnalyzeResponse:
        """What the policies say of a stack."""
        response = analyzer_pb2.AnalyzeResponse()
        resources = [self._resource(each) for each in request.resources]
        for policy, report in self._asked(StackValidationPolicy, response):
            configured = policy.mends if isinstance(policy, AfterAll) else policy
            config = self._get_policy_config(configured.name)
            policy.validate(StackValidationArgs(resources, config), report)
        return response

    def _asked(
        self, kind: type[Policy], response: analyzer_pb2.AnalyzeResponse
    ) -> Iterator[tuple[Any, Report]]:
        """The policies of a kind that are switched on, each with what takes its findings."""
        for each in self._policies:
            level = self._get_enforcement_level(each)
            if level == EnforcementLevel.DISABLED or not isinstance(each, kind):
                continue
            if isinstance(each, AfterAll) and not self._is_mended_by(each.mends):
                continue
            # What is found now was not mended.
            stops = level == EnforcementLevel.REMEDIATE
            level = EnforcementLevel.MANDATORY if stops else level
            said = (each.name, each.description, level, each.severity)
            yield each, self._create_report_violation(response, *said)

    def _is_mended_by(self, policy: Policy) -> bool:
        return self._get_enforcement_level(policy) == EnforcementLevel.REMEDIATE

    def _resource(self, each: Any) -> PolicyResource:
        options = self._get_resource_options(each)
        of_resource = (each.type, each.properties, each.urn, each.name, options)
        return PolicyResource(*of_resource, None, None, [], {})


def serve_policies(servicer: Servicer) -> None:
    """Answer the engine until it ends; it reads the port from the standard output."""
    pool = ThreadPoolExecutor(_WORKERS)
    server = grpc.server(pool, options=[("grpc.max_receive_message_length", _LARGEST_MESSAGE)])
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        server.wait_for_termination()
    server.stop(0)

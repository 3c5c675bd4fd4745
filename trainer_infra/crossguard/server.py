"""A pack as the engine asks it: what it sends is read once for all policies.

pulumi_policy reads the properties of a resource anew for each of its policies, and those of the
whole stack for each stack policy, which was most of what a pack costs; all else is its own. Here a
policy gets the properties as they came, which `values.plain_value` reads, and the same object as
all others get: `verdicts` judges it for all of them. What holds for a whole deployment is read
once, and of resources that no rule judges nothing is read.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import grpc
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyProviderResource,
    PolicyResource,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import _PolicyAnalyzerServicer
from typing_extensions import override

from trainer_infra.crossguard.declared_objects import is_judged

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


class RulePolicy(ResourceValidationPolicy):
    """A rule as a policy that is asked only about resources of which it says something."""

    says_something: Callable[[ResourceValidationArgs, Mapping[str, Any] | None], bool]
    """Whether it does, with these parameters of Pulumi's own configuration."""


@dataclass(frozen=True, slots=True)
class FindingReceiver:
    """Takes what a policy finds."""

    say: Callable[..., None]
    is_advisory: bool
    """Whether it is only shown: nothing is stopped or changed."""

    def __call__(self, *said: str) -> None:
        """Take a message, and for a stack the URN that it is about."""
        self.say(*said)


@dataclass(frozen=True, slots=True)
class _EnabledPolicy:
    """A policy that is switched on, as Pulumi's configuration of the pack has it."""

    policy: Any
    level: EnforcementLevel
    config: Mapping[str, Any] | None


class Servicer(_PolicyAnalyzerServicer):
    """Answers the engine."""

    def __init__(self, name: str, policies: Sequence[Policy], description: str = "") -> None:
        """Take a pack; all of its policies have a `validate` that is not a coroutine."""
        level = EnforcementLevel.ADVISORY
        super().__init__(name, _VERSION, list(policies), level, description=description)
        self._policies = tuple(policies)
        self._asked = self._switched_on()

    @override
    def Configure(self, request: Any, _context: Any) -> Any:
        """Take Pulumi's own configuration of the pack."""
        servicer: Any = super()
        answer = servicer.Configure(request, _context)
        self._asked = self._switched_on()
        return answer

    @override
    def Remediate(self, request: Any, _context: Any) -> Any:
        """What the policies that mend make of a resource."""
        mends = any(each.level == EnforcementLevel.REMEDIATE for each in self._asked)
        if not mends or not is_judged(request.type):
            return analyzer_pb2.RemediateResponse()
        servicer: Any = super()
        return servicer.Remediate(request, _context)

    @override
    def Analyze(self, request: Any, _context: Any) -> analyzer_pb2.AnalyzeResponse:
        """What the policies say of a resource."""
        response = analyzer_pb2.AnalyzeResponse()
        if not is_judged(request.type):
            return response
        properties, options = request.properties, self._get_resource_options(request)
        of_resource = (request.type, properties, request.urn, request.name, options)
        provider = _provider(request)
        sent = ResourceValidationArgs(*of_resource, provider, None)
        for each in self._enabled(ResourceValidationPolicy):
            policy = each.policy
            if not isinstance(policy, RulePolicy) or policy.says_something(sent, each.config):
                args = ResourceValidationArgs(*of_resource, provider, each.config)
                policy.validate(args, self._receiver(each, response))
        return response

    @override
    def AnalyzeStack(self, request: Any, _context: Any) -> analyzer_pb2.AnalyzeResponse:
        """What the policies say of a stack."""
        response = analyzer_pb2.AnalyzeResponse()
        resources = []
        for each in request.resources:
            options = self._get_resource_options(each)
            of_resource = (each.type, each.properties, each.urn, each.name, options)
            resources.append(PolicyResource(*of_resource, _provider(each), None, [], {}))
        for asked in self._enabled(StackValidationPolicy):
            args = StackValidationArgs(resources, asked.config)
            asked.policy.validate(args, self._receiver(asked, response))
        return response

    def _switched_on(self) -> tuple[_EnabledPolicy, ...]:
        asked = []
        for each in self._policies:
            level, configured = self._get_enforcement_level(each), each
            if isinstance(each, AfterAll):
                configured = each.mends
                if self._get_enforcement_level(configured) != EnforcementLevel.REMEDIATE:
                    continue
            if level != EnforcementLevel.DISABLED:
                asked.append(_EnabledPolicy(each, level, self._get_policy_config(configured.name)))
        return tuple(asked)

    def _enabled(self, kind: type[Policy]) -> Iterator[_EnabledPolicy]:
        return (each for each in self._asked if isinstance(each.policy, kind))

    def _receiver(
        self, asked: _EnabledPolicy, response: analyzer_pb2.AnalyzeResponse
    ) -> FindingReceiver:
        """What takes the findings of a policy."""
        # What is found now was not mended.
        stops = asked.level == EnforcementLevel.REMEDIATE
        level = EnforcementLevel.MANDATORY if stops else asked.level
        policy = asked.policy
        said = (policy.name, policy.description, level, policy.severity)
        say = self._create_report_violation(response, *said)
        return FindingReceiver(say, level == EnforcementLevel.ADVISORY)


def _provider(request: Any) -> PolicyProviderResource | None:
    """The provider of a resource, without its properties: a kubeconfig is long, and nothing of ours."""
    if not request.HasField("provider"):
        return None
    sent = request.provider
    return PolicyProviderResource(sent.type, {}, sent.urn, sent.name)


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

"""pod-fields: the other fields of a pod are what Kubernetes takes: names, DNS, gates, claims.

Source: Kubernetes' validation of pods (`ValidatePodSpec` and what that calls).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.admission.field import Check
from trainer_infra.rules.name_syntax import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    IP_ADDRESS,
    QUALIFIED_NAME,
    SEARCH_DOMAIN,
    Syntax,
)
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_LARGEST: Final = 2**31 - 1
_NO_POLICY: Final = "None"
_DNS: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", _NO_POLICY)
_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCHED: Final = 2048
"""Characters of all search domains."""
_SEARCH: Final = Syntax(
    SEARCH_DOMAIN.words,
    lambda text: text == "." or SEARCH_DOMAIN.fits(text.removesuffix(".")),
)


def _length(searches: Value) -> Iterator[Finding]:
    count = len(" ".join(searches.texts()))
    if count > _SEARCHED:
        yield searches.finding(f"must have at most {_SEARCHED} characters, has {count}")


_CLAIM: Final = field.every(
    field.required("name"),
    field.one_of("resourceClaimName", "resourceClaimTemplateName"),
    field.fields(
        {
            "name": field.text(DNS_LABEL),
            **dict.fromkeys(
                ("resourceClaimName", "resourceClaimTemplateName"),
                field.text(DNS_SUBDOMAIN, is_optional=False),
            ),
        }
    ),
)
_QUALIFIED: Final = field.text(QUALIFIED_NAME, is_optional=False)
_FIELDS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("hostname", "subdomain"), field.text(DNS_LABEL)),
    **dict.fromkeys(
        ("serviceAccountName", "nodeName", "priorityClassName"), field.text(DNS_SUBDOMAIN)
    ),
    "runtimeClassName": field.text(DNS_SUBDOMAIN, is_optional=False),
    "activeDeadlineSeconds": field.number(1, _LARGEST),
    "preemptionPolicy": field.choice("Never", "PreemptLowerPriority", is_optional=False),
    "os": field.every(
        field.required("name"), field.fields({"name": field.choice("linux", "windows")})
    ),
    "readinessGates": field.items(
        field.every(field.required("conditionType"), field.fields({"conditionType": _QUALIFIED}))
    ),
    "schedulingGates": field.every(
        field.items(field.every(field.required("name"), field.fields({"name": _QUALIFIED}))),
        field.unique("name"),
    ),
    "hostAliases": field.items(
        field.every(
            field.required("ip"),
            field.fields(
                {
                    "ip": field.text(IP_ADDRESS),
                    "hostnames": field.items(field.text(DNS_SUBDOMAIN, is_optional=False)),
                }
            ),
        )
    ),
    "resourceClaims": field.every(field.items(_CLAIM), field.unique("name")),
    "dnsPolicy": field.choice(*_DNS),
    "dnsConfig": field.fields(
        {
            "nameservers": field.every(
                field.longest(_SERVERS), field.items(field.text(IP_ADDRESS, is_optional=False))
            ),
            "searches": field.every(
                field.longest(_SEARCHES),
                field.items(field.text(_SEARCH, is_optional=False)),
                _length,
            ),
            "options": field.items(field.required("name")),
        }
    ),
}


def _own_servers(spec: Value) -> Iterator[Finding]:
    """Without a policy the pod says its name servers itself."""
    servers = spec.at("dnsConfig", "nameservers")
    if spec["dnsPolicy"].text() == _NO_POLICY and not field.all_items(servers):
        yield servers.finding(f"is required where dnsPolicy is {_NO_POLICY}")


_OF_SPEC: Final = field.every(field.fields(_FIELDS), _own_servers)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(field.found_in(pod.spec, _OF_SPEC), context)


RULE: Final = Rule(
    id="pod-fields",
    title="Names, DNS, gates and claims of a pod are what Kubernetes takes",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission",),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write names as DNS has them, and words that the field knows.",
    places=written_places.pods_with(*_FIELDS),
    check=_check,
)

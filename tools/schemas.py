"""Writes trainer_infra/api/schemas/ from the CRDs published in Go modules.

Run by a developer (`python -m tools.schemas`, needs Go) when a version below is raised; then
`git diff` shows what the API changed. Descriptions are dropped and subschemas that occur more
than once are kept once. api/shape/schema.py and api/shape/queue_schema.py of the package read the result.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import build

JSON = dict[str, Any]

TRAINER: Final = ("github.com/kubeflow/trainer/v2", "v2.3.0")
JOBSET: Final = ("sigs.k8s.io/jobset", "v0.12.0")
KUEUE: Final = ("sigs.k8s.io/kueue", "v0.19.0")
CRDS: Final = {
    "TrainJob": (*TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"),
    "TrainingRuntime": (*TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"),
    "ClusterTrainingRuntime": (
        *TRAINER,
        "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
    ),
    "JobSet": (*JOBSET, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
}
OLDER: Final = {"2.0": "v2.0.1", "2.1": "v2.1.0", "2.2": "v2.2.1"}
"""Releases of Trainer before that one, by what users call them."""
_WORKLOAD: Final = "Workload"
KUEUE_CRDS: Final = {
    kind: (*KUEUE, f"config/components/crd/bases/kueue.x-k8s.io_{plural}.yaml")
    for kind, plural in (
        ("ClusterQueue", "clusterqueues"),
        ("LocalQueue", "localqueues"),
        ("ResourceFlavor", "resourceflavors"),
        ("Cohort", "cohorts"),
        ("Topology", "topologies"),
        ("WorkloadPriorityClass", "workloadpriorityclasses"),
        ("AdmissionCheck", "admissionchecks"),
        ("MultiKueueCluster", "multikueueclusters"),
        ("MultiKueueConfig", "multikueueconfigs"),
        ("ProvisioningRequestConfig", "provisioningrequestconfigs"),
        (_WORKLOAD, "workloads"),
    )
}
KUEUE_VERSIONS: Final = ("v1beta2", "v1beta1")
"""Those that Kueue serves, the newest first."""
FOLDER: Final = Path(__file__).parents[1] / "trainer_infra" / "api" / "schemas"
SHARED_FROM: Final = 150
"""Length of compact JSON from which a repeated subschema is kept once."""

KEYWORDS: Final = frozenset(
    {
        "type", "properties", "required", "items", "additionalProperties", "default", "enum",
        "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems",
        "maxItems", "minProperties", "maxProperties", "anyOf",
    }
)  # fmt: skip
"""What schema.py checks; another keyword must be taught to it first."""


def module_folder(module: str, version: str) -> Path:
    """The folder of a published module in Go's cache, downloaded when it is not there."""
    build.must_be_allowed(module)
    with tempfile.TemporaryDirectory() as folder:
        command = ["go", "mod", "download", "-json", f"{module}@{version}"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return Path(json.loads(done.stdout)["Dir"])


def crd_schemas(text: bytes) -> dict[str, JSON]:
    """The OpenAPI schema of each version of a CRD."""
    versions = yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
    return {each["name"]: each["schema"]["openAPIV3Schema"] for each in versions}


def without_descriptions(schema: JSON) -> JSON:
    """The schema without prose; a property may itself be called `description`."""
    return {
        key: _each_subschema(key, value) for key, value in schema.items() if key != "description"
    }


def _each_subschema(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: without_descriptions(schema) for name, schema in value.items()}
    if key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
        return without_descriptions(value)
    if key not in KEYWORDS and not key.startswith("x-kubernetes-"):
        raise SystemExit(
            f"the schema keyword {key} is unknown; teach it to api/shape/walk.py first"
        )
    return value


class Shared:
    """Keeps each repeated subschema once, under the name of a field that has it."""

    def __init__(self, roots: dict[str, JSON]) -> None:
        self.uses: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.definitions: dict[str, JSON] = {}
        for root in roots.values():
            self._count(root)

    def _count(self, schema: JSON) -> None:
        text = compact(schema)
        self.uses[text] += 1
        if self.uses[text] == 1:
            for _, child in children("", schema):
                self._count(child)

    def replaced(self, name: str, schema: JSON) -> JSON:
        """The schema itself, or a reference when it is shared."""
        text = compact(schema)
        if self.uses[text] == 1 or len(text) < SHARED_FROM:
            return self._with_children(name, schema)
        if text not in self.names:
            self.names[text] = self._free_name(name)
            self.definitions[self.names[text]] = self._with_children(name, schema)
        return {"$ref": self.names[text]}

    def _with_children(self, name: str, schema: JSON) -> JSON:
        out = dict(schema)
        if "properties" in schema:
            out["properties"] = {
                field: self.replaced(field, child) for field, child in schema["properties"].items()
            }
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                out[key] = self.replaced(f"{name}[]", schema[key])
        return out

    def _free_name(self, name: str) -> str:
        taken = sum(other.split("#")[0] == name for other in self.names.values())
        return f"{name}#{taken + 1}" if taken else name


def children(name: str, schema: JSON) -> list[tuple[str, JSON]]:
    """The direct subschemas with their fields' names."""
    found = list(schema.get("properties", {}).items())
    below = (schema.get(key) for key in ("items", "additionalProperties"))
    return found + [(name, child) for child in below if isinstance(child, dict)]


def compact(value: Any) -> str:
    """JSON on one line without spaces."""
    return json.dumps(value, separators=(",", ":"))


def readable_in_a_diff(groups: dict[str, dict[str, JSON]]) -> str:
    """JSON with one schema a line."""
    parts = []
    for group, schemas in groups.items():
        lines = ",\n".join(f'"{name}":{compact(schema)}' for name, schema in schemas.items())
        parts.append(f'"{group}":{{\n{lines}\n}}')
    return "{" + ",\n".join(parts) + "}"


def published() -> dict[str, JSON]:
    """The schema of each kind of Trainer and JobSet."""
    return {kind: only_version(place) for kind, place in CRDS.items()}


def published_of_older(release: str) -> dict[str, JSON]:
    """The schema of each kind of an older release of Trainer."""
    places = {kind: place for kind, place in CRDS.items() if place[0] == TRAINER[0]}
    return {
        kind: only_version((module, OLDER[release], path))
        for kind, (module, _, path) in places.items()
    }


def only_version(place: tuple[str, str, str]) -> JSON:
    """The schema of a CRD that has one version: module, its version and the path in it."""
    (schema,) = crd_schemas(crd_text(*place)).values()
    return without_descriptions(schema)


def published_of_kueue() -> dict[str, JSON]:
    """The schema of each kind and version of Kueue, without the status, which Kueue writes."""
    schemas: dict[str, JSON] = {}
    for kind, place in KUEUE_CRDS.items():
        found = crd_schemas(crd_text(*place))
        for version in KUEUE_VERSIONS:
            schema = without_descriptions(found[version])
            schema["properties"].pop("status", None)
            # Its other rules are of the status.
            schema.pop("x-kubernetes-validations", None)
            schemas[f"{version}/{kind}"] = schema
    return schemas


def crd_text(module: str, version: str, path: str) -> bytes:
    """A file of a published module."""
    return (module_folder(module, version) / path).read_bytes()


def provenance() -> Iterator[JSON]:
    """Where each schema came from."""
    older = [
        (kind, (module, version, path))
        for version in OLDER.values()
        for kind, (module, _, path) in CRDS.items()
        if module == TRAINER[0]
    ]
    for kind, (module, version, path) in (*CRDS.items(), *KUEUE_CRDS.items(), *older):
        digest = hashlib.sha256(crd_text(module, version, path)).hexdigest()
        yield {"kind": kind, "module": module, "version": version, "path": path, "sha256": digest}


def write(name: str, roots: dict[str, JSON]) -> None:
    """Write the schemas, each subschema that they share once."""
    shared = Shared(roots)
    kept = {root: shared.replaced(root, schema) for root, schema in roots.items()}
    text = readable_in_a_diff({"kinds": kept, "shared": shared.definitions})
    (FOLDER / name).write_text(text + "\n")
    print(f"wrote {FOLDER / name}, {len(shared.definitions)} shared schemas")


def main() -> int:
    """Write all files; 1 when the modules of Trainer and JobSet do not fit together."""
    kinds = published()
    jobset_spec = kinds.pop("JobSet")["properties"]["spec"]
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        template = kinds[kind]["properties"]["spec"]["properties"]["template"]
        if template["properties"]["spec"] != jobset_spec:
            print(f"{kind} holds another JobSetSpec than {JOBSET[0]} {JOBSET[1]}", file=sys.stderr)
            return 1
    write("published.json", {"JobSetSpec": jobset_spec} | kinds)
    of_kueue = published_of_kueue()
    workloads = {each: of_kueue.pop(each) for each in [*of_kueue] if each.endswith(_WORKLOAD)}
    write("kueue.json", of_kueue)
    write("kueue_workload.json", workloads)
    for release in OLDER:
        write(f"trainer-{release}.json", published_of_older(release))
    (FOLDER / "provenance.json").write_text(json.dumps([*provenance()], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

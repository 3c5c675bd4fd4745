"""The CustomResourceDefinitions of a pinned release, as its published manifests have them."""

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.manifests.manifest_source import release_objects
from trainer_infra.platform.releases import release_of


def release_definitions(project: str) -> list[JSONObject]:
    """Those of the newest pinned version."""
    objects = release_objects(release_of(project, None))
    return [each for each in objects if each["kind"] == "CustomResourceDefinition"]

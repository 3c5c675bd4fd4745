"""Kueue's own webhooks refuse what a preview refuses and a CRD lets pass."""

import json
from pathlib import Path

import pytest

from from_source.cluster import kubectl
from tests.apiserver.test_queue_objects import TAKEN, objects_without_judgement
from tests.platform.queues.mistakes import MISTAKES
from trainer_infra.errors import NotAvailable


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("mistake", TAKEN)
def test_a_webhook_refuses_what_the_preview_refuses(nodes: Path, mistake: str) -> None:
    objects = objects_without_judgement(MISTAKES[mistake])
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    where = ("--kubeconfig", str(nodes))
    with pytest.raises(NotAvailable, match=r"webhook|Invalid value"):
        kubectl.run(*where, "create", "--dry-run=server", "--filename", "-", given=items)

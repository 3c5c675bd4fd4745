"""The pack `restricted` for `pulumi up --policy-pack policies/restricted`; its rules are in docs/rules.md."""

from trainer_infra.deploy import crossguard
from trainer_infra.rules import packs

crossguard.serve(packs.RESTRICTED)

"""The pack `restricted` for `pulumi up --policy-pack policies/restricted`; its rules are in docs/rules.md."""

from trainer_infra.crossguard import policy_pack
from trainer_infra.rules import packs

policy_pack.serve_pack(packs.RESTRICTED)

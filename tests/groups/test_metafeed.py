"""Feeds of classic groups: as ssb-meta-feeds grows them."""

from base64 import b64encode
from typing import Any

import pytest
from nacl.bindings import crypto_sign_seed_keypair

from tests.groups.vectors import cases
from tinyssb_node.groups.bfe import bfe_text
from tinyssb_node.groups.metafeed import child_seed, shard

CASES = cases("metafeeds")


@pytest.mark.parametrize(
    "case", [case for case in CASES if "label_utf8" in case], ids=lambda case: case["id"]
)
def test_feeds_of_a_tree(case: dict[str, Any]) -> None:
    public, secret = crypto_sign_seed_keypair(child_seed(bytes.fromhex(case["seed"]), case["label_utf8"]))
    assert b64encode(public).decode() + ".ed25519" == case["public_b64"]
    assert case["bfe"][4:] == public.hex()
    if "private_b64" in case:
        assert b64encode(secret).decode() + ".ed25519" == case["private_b64"]


@pytest.mark.parametrize("case", [case for case in CASES if "name_utf8" in case], ids=lambda case: case["id"])
def test_branches_of_a_tree(case: dict[str, Any]) -> None:
    assert bfe_text(case["name_utf8"]).hex() == case["name_bfe"]
    assert shard(bytes.fromhex(case["root_bfe"]), case["name_utf8"]) == case["shard_nibble"]

"""PZP's table in config.toml."""

import tomllib
from dataclasses import replace
from pathlib import Path

from tinyssb_node.daemon.config import Config, parse_config
from tinyssb_node.faces.access import Credentials, ListenerPolicy
from tinyssb_node.pzp.config import PzpAccess, PzpPeer, pzp_settings
from tinyssb_node.store.home import Home

HOME = Home(Path("/home/ana/.tinyssb"))


def parse(text: str) -> Config:
    return parse_config(HOME, tomllib.loads(text))


def test_gateways_of_pzp_may_show_each_other_who_they_are() -> None:
    config = parse(f"""
        [pzp]
        listen = "0.0.0.0:8788"
        peers = ["wss://hut#pin={"ab" * 32}", "ws://127.0.0.1:80/pzp", "wss://pub.example"]
        token_file = "pzp.token"
        cert_file = "/etc/c.pem"
        key_file = "/etc/c.key"
        clients_file = "/etc/ca.pem"
        ca_file = "/etc/pubs.pem"
    """)
    token, certificate, key = HOME.root / "pzp.token", Path("/etc/c.pem"), Path("/etc/c.key")
    pubs = Credentials(
        tls=True, authorities=Path("/etc/pubs.pem"), certificate=certificate, key=key, token=token
    )
    guard = ListenerPolicy(certificate=certificate, key=key, clients=Path("/etc/ca.pem"), token=token)
    peers = (
        PzpPeer("wss://hut", replace(pubs, pin=b"\xab" * 32)),
        PzpPeer("ws://127.0.0.1:80/pzp", Credentials(token=token)),
        PzpPeer("wss://pub.example", pubs),
    )
    assert pzp_settings(config).access == PzpAccess(("0.0.0.0", 8788), guard, peers)
    assert pzp_settings(parse('pzp = {listen = "0.0.0.0:1", open = true}')).access.guard == ListenerPolicy(
        open=True
    )

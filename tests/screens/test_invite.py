"""How to get to the page."""

import pytest

from tinyssb_node.screens import invite


def test_one_address_is_itself_and_all_are_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert invite.page_addresses("192.168.4.1", 80) == ["http://192.168.4.1:80/"]
    assert invite.page_addresses("::1", 80) == ["http://[::1]:80/"]
    assert invite.page_addresses("hut.local", 80) == ["http://hut.local:80/"]
    assert invite.page_addresses("0.0.0.0", 80)[-1] == "http://127.0.0.1:80/"
    assert "http://0.0.0.0:80/" not in invite.page_addresses("0.0.0.0", 80)
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "nothing-here")])
    assert invite.page_addresses("::", 80) == ["http://127.0.0.1:80/"]


def test_the_addresses_of_interfaces_are_asked_of_the_kernel() -> None:
    assert "127.0.0.1" in [str(each) for each in invite.interface_addresses()]


def test_a_link_keeps_the_token_from_servers() -> None:
    assert invite.link("http://hut:80/", "ab~c") == "http://hut:80/#token=ab~c"
    assert invite.link("http://hut:80/", None) == "http://hut:80/"


def test_the_link_is_drawn_for_a_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = invite.qr_code("http://192.168.4.1:8780/#token=" + "0" * 32)
    assert drawn is not None
    lines = drawn.split("\n")
    assert len(lines) < 24
    assert max(map(len, lines)) < 80
    monkeypatch.setitem(__import__("sys").modules, "segno", None)
    assert invite.qr_code("http://hut") is None

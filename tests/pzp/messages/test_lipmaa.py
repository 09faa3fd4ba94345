from tests.pzp.messages.vectors import load
from tinyssb_node.pzp.messages.tangle import lipmaa, lipmaa_depth


def test_links_of_the_original() -> None:
    vectors = load("lipmaa")
    assert len(vectors["lipmaa"]) == 1200
    for number, linked in vectors["lipmaa"]:
        assert lipmaa(number) == linked
    for depth, linked in vectors["lipmaaDepth"]:
        assert lipmaa_depth(depth) == linked


def test_a_link_always_leads_back() -> None:
    for number in (*range(1, 2000), 10**6, 2**53):
        assert 0 <= lipmaa(number) < number

"""The limits of groups: what docs/reference/groups.md says is not protected is so."""

from tests.groups.mesh import HOUR_US, MINUTE_US, begun
from tests.groups.plot import Plot, leak
from tinyssb_node import limits
from tinyssb_node.ids import FeedId


def test_until_an_exclusion_arrives_the_excluded_person_reads_what_others_write() -> None:
    mesh, root = begun("abcd")
    mesh.join("a", "bcd")
    mesh.exclude("a", root, "c")
    mesh.settle(HOUR_US)
    mesh.say("b", root, "before it arrived")
    mesh.settle()
    mesh.join("abcd")
    mesh.settle(MINUTE_US)
    mesh.say("b", root, "after it arrived")
    mesh.settle()
    assert mesh.texts("c", root) == ["before it arrived"]
    assert mesh.texts("d", root) == ["before it arrived", "after it arrived"]


def test_a_member_who_gives_the_key_away_is_seen_by_nobody() -> None:
    mesh, root = begun("abc")
    plot = Plot(mesh, root)
    mesh.exclude("a", root, "c")
    mesh.settle()
    before = [plot.view(name) for name in "ab"]
    init = mesh.prefers("a", root)
    assert init is not None
    leak(plot, init, "c")
    mesh.say("a", root, "without c")
    mesh.settle()
    assert mesh.texts("c", root) == ["without c"]
    assert [plot.view(name) for name in "ab"] == before


def test_an_observer_sees_which_feeds_grow_and_whose_additions_but_nothing_in_them() -> None:
    mesh, root = begun("ab", "x")
    mesh.join("ax", "bx")

    def counts() -> dict[FeedId, int]:
        """The number of entries in the observer's store, by feed."""
        store = mesh.world.inhabitants["x"].store
        return {one.feed: len(store.entries(one.feed, 1, limits.SEQ_MAX)) for one in store.feeds()}

    mesh.settle(MINUTE_US)
    before = counts()
    mesh.say("a", root, "a secret")
    mesh.settle(MINUTE_US)
    grown = {feed for feed, count in counts().items() if count > before.get(feed, 0)}
    group = mesh.group("a", root)
    assert mesh["a"].reader.feed_of(mesh.id("a"), group.view[root].key) in grown
    assert before[mesh["a"].reader.feed_of(mesh.id("a"), None) or mesh.id("a")]
    assert mesh.texts("b", root) == ["a secret"]
    assert mesh["x"].reader.groups == {}

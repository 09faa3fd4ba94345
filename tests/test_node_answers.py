"""What a node answers, when, and what it does not say twice."""

from tinyssb_node.sim.world import World

SECOND_US = 1_000_000


def test_who_is_far_behind_is_served_while_news_are_pushed_every_second() -> None:
    world = World(8)
    world.add("old")
    world.add("new")
    for post in range(2_000):
        world.publish("old", post.to_bytes(4, "big"))
    feed = world.inhabitants["old"].feed

    def post_on() -> None:
        world.publish("old", b"more")
        world.later(SECOND_US, post_on)

    world.later(0, post_on)
    world.connect("old", "new")

    def caught_up() -> bool:
        return any(
            record.feed == feed and record.seq > 2_000 for record in world.inhabitants["new"].node.feeds()
        )

    assert world.run(caught_up, 10 * SECOND_US)

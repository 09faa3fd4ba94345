"""Sets that phones near do not survive, in words."""

from tinyssb_node.control.rows import PhonesRow

_ADVICE = (
    "Set `set.places` in config.toml, on this node and its neighbours: further feeds then stay out of the set. How to "
    'take out those that are in it, or to use a network of its own for them: docs/howto/trouble.md, "Phones that end"'
)


def phone_problem(row: PhonesRow | None) -> tuple[str, str] | None:
    """Return what is wrong with the set for the phones near, and what to do; None: nothing."""
    if row is None or row.room not in {"nearly", "beyond"}:
        return None
    near = f"boards or phones are near ({', '.join(row.faces)}), and the set has {row.set_feeds} feeds"
    if row.room == "beyond":
        return f"{near}: with so many the phone app ends, and ends again at each start", _ADVICE
    return f"{near}: with a few more feeds or entries the phone app ends", _ADVICE

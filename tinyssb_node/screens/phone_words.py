"""Sets that phones near do not survive, in words."""

from tinyssb_node.control.rows import PhonesRow
from tinyssb_node.screens.languages import message, number, t

_ADVICE = message(
    "Set `set.places` in config.toml, on this node and its neighbours: further feeds then stay out of the set. How to "
    'take out those that are in it, or to use a network of its own for them: docs/howto/trouble.md, "Phones that end"'
)


def phone_problem(row: PhonesRow | None) -> tuple[str, str] | None:
    """Return what is wrong with the set for the phones near, and what to do; None: nothing."""
    if row is None or row.room not in {"nearly", "beyond"}:
        return None
    near = {"faces": ", ".join(row.faces), "feeds": number(row.set_feeds)}
    if row.room == "beyond":
        words = t(
            "boards or phones are near ({faces}), and the set has {feeds} feeds: with so many the phone app ends, "
            "and ends again at each start",
            **near,
        )
    else:
        words = t(
            "boards or phones are near ({faces}), and the set has {feeds} feeds: with a few more feeds or entries "
            "the phone app ends",
            **near,
        )
    return words, t(_ADVICE)

"""Alert rules: each with its thresholds and their reasons."""

from dataclasses import dataclass
from typing import Final, Literal

from spark_sink.derive.facts import HOUR_US
from spark_sink.limits import HOLD_SLOTS, SLOT_US

Level = Literal["warning", "alarm"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with hysteresis: when an alert begins, and when it ends."""

    name: str
    level: Level
    raise_at: float
    """An alert begins when the value reaches this."""
    clear_at: float
    """It ends when the value has come down to this; between the two nothing changes."""
    hold_us: int
    """Alerts that last less than this are not kept."""
    unit: str
    """Unit of the value."""
    sentence: str
    """For people, with ``{who}`` for the subject and ``{value}`` for the value with its unit."""
    why: str
    """Reason for the thresholds."""


RULES: Final = {
    rule.name: rule
    for rule in (
        Rule(
            "isolated", "warning", 0, 0, HOLD_SLOTS * SLOT_US, "h",
            "{who} has been out of contact with all other nodes for {value}.",
            "from the last contact on, once a contact would no longer count (`groups`) for two slots",
        ),
        Rule(
            "split", "warning", 2, 1, HOLD_SLOTS * SLOT_US, "parts",
            "The mesh is split into {value}.",
            "until nodes of two parts are in one group again, or fewer than two parts have nodes that are up",
        ),
        Rule(
            "silent", "warning", 6, 0, 0, "h",
            "The log of {who} ended without a stop {value} ago.",
            "6 h: segments are closed every hour, and who collects them once an hour may miss some",
        ),
        Rule(
            "stuck", "warning", 10, 5, HOUR_US, "entries",
            "{who} lacks {value} that other nodes have had for hours, and receives none of them.",
            "others had 10 entries more 3 h ago, and in 3 h of being up none came; a slow mesh needs minutes an entry",
        ),
        Rule(
            "duty", "warning", 80, 60, 0, "%",
            "{who} has used {value} of the airtime that the law allows.",
            "adverts stop at half of it, so 80 % is news and answers; 60 % is clear of that again",
        ),
        Rule(
            "duty_over", "alarm", 100, 99, 0, "%",
            "{who} was on the air for {value} of what the law allows.",
            "the law; a packet that began before the window is taken off",
        ),
        Rule(
            "clock_wrong", "warning", 10, 5, 0, "min",
            "The clock of {who} is {value} off.",
            "10 min: beyond it people notice, and slots no longer mean the same",
        ),
        Rule(
            "clock_jump", "warning", 60, 0, 0, "s",
            "The clock of {who} jumped by {value}.",
            "60 s: more than any correction of a clock that was set; it is over when none came for an hour",
        ),
        Rule(
            "restarts", "warning", 3, 1, 0, "boots",
            "{who} did not end in order before {value} of the last 6 h.",
            "one is a power cut, three in 6 h a bad supply or a bug",
        ),
        Rule(
            "flapping", "warning", 6, 2, 0, "times/h",
            "{who} went down {value}.",
            "faces try again after minutes; 6 an hour is more than a cable pulled and plugged",
        ),
        Rule(
            "down", "warning", 0, 0, 30_000_000, "min",
            "{who} has been down for {value}.",
            "a cable that is loose for half a minute stays so; what comes back sooner is counted by `flapping`",
        ),
        Rule(
            "fork", "alarm", 1, 0, 0, "nodes",
            "{who} has two entries with one sequence number: its key was used twice. {value} saw it.",
            "proof, and for ever",
        ),
        Rule(
            "invalid", "warning", 10, 2, 0, "packets/h",
            "{who} heard {value} with wrong signatures or hashes.",
            "noise that passes a CRC comes once a day; 10 an hour are somebody's work",
        ),
        Rule(
            "budget", "warning", 100, 20, 0, "packets/h",
            "At {who}, {value} had to wait for airtime.",
            "100 full packets at SF7 are the 20 s that 1 % leaves for half an hour",
        ),
        Rule(
            "faded", "warning", 90, 70, 0, "%",
            "{who}: {value} of the packets sent are lost, where at least half arrived before.",
            "a tenth arrives in 3 h, of 20 packets and more, after half in the 3 h before; for a day at most",
        ),
        Rule(
            "log_missing", "warning", 1, 0, 0, "records",
            "{value} are missing from the log of {who}.",
            "until they come",
        ),
        Rule(
            "disk", "alarm", 1, 0, 0, "refusals/h",
            "{who} could not write to its disk: {value}.",
            "a node that cannot store turns entries away at once",
        ),
    )
}  # fmt: skip
"""Rules by name. Subjects are words separated by spaces: ``mesh``, ``node 3``, ``face 3 lora0``, ``feed 7``,
``boot 3 12``, ``link 3 5`` (sender, receiver). The numbers are those of the database."""

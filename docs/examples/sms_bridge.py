"""A bridge to text messages by phone, over the folders of smstools: `python sms_bridge.py /var/spool/sms PERSON...`

Text messages that come in are posted in public. "sms NUMBER TEXT" in public is sent, if one of these people wrote it.
"""

import sys
import time
from pathlib import Path

from tinyssb_node import PUBLIC, NodeSession

spool = Path(sys.argv[1])
with NodeSession.at_home() as node:
    people = {node.find_person(name).feed for name in sys.argv[2:]}
    seen = node.read_marks().get(PUBLIC, 0)
    while True:
        for file in sorted((spool / "incoming").iterdir()):
            head, _, text = file.read_text("utf-8").partition("\n\n")
            sender = next(line[6:] for line in head.splitlines() if line.startswith("From: "))
            node.say(f"SMS from {sender}: {text.strip()}")
            file.unlink()
        node.catch_up()
        for row in node.catalog.arrived(PUBLIC, seen):
            seen = row.placed or seen
            node.mark_read({PUBLIC: seen})  # First: after a crash, nothing is sent twice.
            order, number, text = (*row.text.split(" ", 2), "", "")[:3]
            number = number.removeprefix("+")
            if order == "sms" and row.feed in people and number.isascii() and number.isdecimal():
                draft = spool / row.id.hex()
                draft.write_text(f"To: {number}\n\n{text}\n", "utf-8")
                draft.rename(spool / "outgoing" / draft.name)  # Moved there whole.
        time.sleep(1)

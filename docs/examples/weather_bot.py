"""Answers "weather" in the public conversation with the text of a file: `python weather_bot.py FILE`."""

import sys
import time
from pathlib import Path

from tinyssb_node import PUBLIC, NodeSession

with NodeSession.at_home() as node:
    seen = node.read_marks().get(PUBLIC, 0)
    while True:
        node.catch_up()
        for row in node.catalog.arrived(PUBLIC, seen):
            seen = row.placed or seen
            node.mark_read({PUBLIC: seen})  # First: after a crash, a message is not answered twice.
            if row.text.strip().lower() == "weather" and not row.own:
                node.say(Path(sys.argv[1]).read_text("utf-8").strip()[:200], reply_to=row.id)
        time.sleep(1)

"""Answers "echo TEXT" in the public conversation with TEXT: `python echo_bot.py`."""

import time

from tinyssb_node import PUBLIC, NodeSession

with NodeSession.at_home() as node:
    seen = node.read_marks().get(PUBLIC, 0)
    while True:
        node.catch_up()
        for row in node.catalog.arrived(PUBLIC, seen):
            seen = row.placed or seen
            node.mark_read({PUBLIC: seen})  # First: after a crash, a message is not answered twice.
            order, _, text = row.text.partition(" ")
            if order == "echo" and text.strip() and not row.own:
                node.say(text, reply_to=row.id)
        time.sleep(1)

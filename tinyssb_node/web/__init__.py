"""A small web page of one node: messages, people, links, airtime (docs/howto/web.md)."""

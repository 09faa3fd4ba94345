"""A small web page of one node: read and write, people, links, airtime (docs/howto/web.md)."""

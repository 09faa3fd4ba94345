"""Code that commands, terminal screen and web page share: options, rendering, safe text, sessions with a node."""

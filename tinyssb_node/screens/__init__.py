"""What commands, terminal screen and web page share: options, rendering, safe text, conversations."""

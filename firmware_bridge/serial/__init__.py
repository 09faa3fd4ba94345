"""What is said over a serial cable to a radio: framings, messages, and the host's half of each conversation. Pure."""

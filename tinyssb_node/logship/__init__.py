"""How an event log comes to its collector, whole: messages and the node's side of the conversation. Pure; the format is
docs/formats/log-shipping.md."""

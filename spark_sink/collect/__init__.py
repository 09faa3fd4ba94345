"""Collector: receives the event logs that nodes ship through an MQTT broker (docs/formats/log-shipping.md)."""

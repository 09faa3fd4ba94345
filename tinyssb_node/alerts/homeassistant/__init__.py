"""The node in Home Assistant, over MQTT discovery (docs/formats/homeassistant.md)."""

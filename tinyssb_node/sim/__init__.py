"""The modelled mesh."""

"""The commands of PZP."""

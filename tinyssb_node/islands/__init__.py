"""Optional: what links islands of radio that are out of each other's reach, from packets to commands."""

"""Who lacks what; never when."""

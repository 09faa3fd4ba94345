"""The meaning of entries: tangles, messages of people, acknowledgements, contacts. Pure, except for the file of
contacts."""

"""What entries mean: tangles, messages of people, acknowledgements. Pure."""

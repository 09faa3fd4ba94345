"""Map files: pictures of the ground (tiles) in one file on this machine. It imports nothing else of the node."""

"""Pure transforms of what was merged: whole hours of many nodes in, figures about the mesh out."""

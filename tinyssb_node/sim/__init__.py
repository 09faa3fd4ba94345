"""The simulator of meshes."""

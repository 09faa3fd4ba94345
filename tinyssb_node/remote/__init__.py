"""Commands of an administrator, who is elsewhere in the mesh, and their answers (docs/formats/remote.md)."""

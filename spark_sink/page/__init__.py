"""The page: what the serving database says about a mesh, for people (docs/reference/dashboard.md). It only reads."""

"""The page: what the serving database says about a mesh, for people (docs/reference/dashboard-2.md). It only reads."""

"""The page that shows the mesh: reads the serving database, never the stream."""

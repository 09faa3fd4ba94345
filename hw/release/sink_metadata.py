"""Build hook of spark_sink/pyproject.toml: the sink's libraries, and the node of its own version."""

from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

LIBRARIES: Final = [
    "duckdb>=1.4",
    "numpy>=1.26",
    "pmtiles>=3.7,<4",
    "prometheus-client>=0.21",
    "pyarrow>=18",
    "starlette>=0.49",
    "uvicorn>=0.38",
]


class SinkMetadata(MetadataHookInterface):
    """Adds the dependencies. The page's server is the node's, so both have to be of one version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies in the *metadata*."""
        metadata["dependencies"] = [f"tinyssb-node=={metadata['version']}", *LIBRARIES]

"""Build hook of both pyproject.toml: a man page and completion scripts for shells, from the commands' parser."""

import os
import sys
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TREE: Final = Path(__file__).parents[2]
PLACES: Final = {
    "bash": "share/bash-completion/completions/{}",
    "zsh": "share/zsh/site-functions/_{}",
    "fish": "share/fish/vendor_completions.d/{}.fish",
}
"""Where each shell looks for the script of a program, below /usr."""


class CommandFiles(BuildHookInterface):  # type: ignore[type-arg] - the configuration is of no type of ours
    """Writes the files, and adds them to the wheel. The settings are ``program`` and ``parser`` (MODULE:FUNCTION)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files into a folder that ``finalize`` removes."""
        self.folder = Path(mkdtemp())
        if version == "editable":
            return
        os.environ["COLUMNS"] = "100"  # argparse asks the terminal otherwise
        sys.path.insert(0, str(TREE))
        from tinyssb_node.cli.commands.shell import completion_script  # noqa: PLC0415 - needs the path above

        program = self.config["program"]
        module, _, function = self.config["parser"].partition(":")
        make_parser = getattr(import_module(module), function)
        texts = {
            place.format(program): completion_script(make_parser(), shell) for shell, place in PLACES.items()
        }
        texts[f"share/man/man1/{program}.1"] = self._man_page(make_parser())
        for place, text in texts.items():
            path = self.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            build_data["shared_data"][str(path)] = place

    def finalize(self, *_: object) -> None:
        """Remove the folder."""
        rmtree(self.folder)

    def _man_page(self, parser: Any) -> str:  # noqa: ANN401 - an argparse parser, as the library wants it
        from argparse_manpage.manpage import Manpage  # noqa: PLC0415 - where pages are made only

        about = {
            "project_name": self.metadata.core.name,
            "version": self.metadata.version,
            "description": self.metadata.core.description.partition(":")[0],
            "manual_title": "tinySSB node",
        }
        return str(Manpage(parser, _data=about))

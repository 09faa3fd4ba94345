"""Plugins that put the content of other programs into words (docs/reference/python.md).

They run in the commands that show content, never in the daemon. A plugin that fails is reported once, and left out
until the command ends.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from tinyssb_node.content import chat
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import safe

GROUP: Final = "tinyssb_node.content_types"
"""The group of entry points. The name of one is that of its content type."""


@dataclass(frozen=True, slots=True)
class PluginText:
    """Content in a plugin's words, unescaped."""

    content_type: str
    """The name of the plugin's entry point."""
    text: str
    """At most ``limits.PLUGIN_TEXT_MAX`` characters."""


class ContentPlugins:
    """The plugins of a process. Each is imported when there is content for it."""

    def __init__(self, found: Iterable[EntryPoint], report: Callable[[str], None]) -> None:
        """Use the entry points *found*, in order of their names; *report* gets a sentence about one that fails."""
        self._waiting = sorted(found, key=lambda point: point.name)
        self._plugins: dict[str, Callable[[bytes], object]] = {}
        self._report = report

    def describe(self, content: bytes) -> PluginText | None:
        """Return *content* in words of the first plugin that knows it; None: none does, or it is a message of ours."""
        if not isinstance(chat.parse(content), chat.Opaque):
            return None
        self._load()
        for name, plugin in [*self._plugins.items()]:
            try:
                text = _words(plugin, content)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises, it is left out
                del self._plugins[name]
                self._leave_out(name, error)
            else:
                if text is not None:
                    return PluginText(name, text[: limits.PLUGIN_TEXT_MAX])
        return None

    def _load(self) -> None:
        waiting, self._waiting = self._waiting, []
        for point in waiting:
            try:
                self._plugins[point.name] = point.load()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
                self._leave_out(point.name, error)

    def _leave_out(self, name: str, error: BaseException) -> None:
        self._report(f"The plugin '{name}' failed and is left out: {type(error).__name__}: {error}")


def _words(plugin: Callable[[bytes], object], content: bytes) -> str | None:
    text = plugin(content)
    if text is None or isinstance(text, str):
        return text
    raise TypeError(f"{type(text).__name__} in place of a text")


@cache
def content_plugins() -> ContentPlugins:
    """Return the installed plugins. The first call takes some milliseconds: it searches all installed packages."""
    return ContentPlugins(entry_points(group=GROUP), _report)


def _report(sentence: str) -> None:
    print(safe(f"tinyssb: {sentence}"), file=sys.stderr)

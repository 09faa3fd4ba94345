"""Messages in the user's language, from gettext catalogues that are read as translators write them (.po).

Messages are English in the code, and name their translations. Data for programs, logs and errors stay English
(docs/decisions/0081-languages.md)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from gettext import c2py
from pathlib import Path
from typing import Final

CATALOGUES: Final = Path(__file__).parent / "catalogues"
"""A folder for each language, with a catalogue for the page and one for the node's other programs."""
LANGUAGES: Final = tuple(sorted(path.name for path in CATALOGUES.iterdir() if path.is_dir()))
"""Codes (ISO 639-1) of the languages besides English."""
_LINE: Final = re.compile(r'(?:(msg\S+) )?(".*")')
_PLURAL: Final = re.compile(r"plural=([^;\n]+)")
FORMS: Final = 200
"""Numbers whose plural forms a page gets: after them, the last two digits decide in all languages that we have."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Translations into one language."""

    messages: Mapping[str, tuple[str, ...]]
    """Forms by message: one form, or all plural forms."""
    plural: str = "n != 1"
    """Which form a number needs, as an expression of C (gettext's Plural-Forms)."""

    def as_json(self) -> bytes:
        """Return the catalogue as the page reads it."""
        choose = c2py(self.plural)
        messages = {text: forms if len(forms) > 1 else forms[0] for text, forms in self.messages.items()}
        content = {"forms": "".join(str(choose(n)) for n in range(FORMS)), "messages": messages}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def parse_catalogue(text: str) -> Catalogue:
    """Parse a catalogue (.po). Messages without a translation are left out, and those that are marked as fuzzy."""
    messages: dict[str, tuple[str, ...]] = {}
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if found := _LINE.fullmatch(line):
                name = found[1] or name
                fields[name] = fields.get(name, "") + json.loads(found[2])
        forms = tuple(text for field, text in fields.items() if field.startswith("msgstr"))
        if forms and all(forms) and "\n#, fuzzy" not in f"\n{block}":
            messages[fields["msgid"]] = forms
    header = messages.pop("", ("",))[0]
    found = _PLURAL.search(header)
    return Catalogue(messages, found[1].strip()) if found else Catalogue(messages)

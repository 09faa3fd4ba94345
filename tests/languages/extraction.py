"""Messages in the code, and catalogues of their translations, by Babel."""

import ast
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from tests.languages.error_texts import error_texts
from tinyssb_node.screens.languages import CATALOGUES

ROOT: Final = Path(__file__).parents[2]
FUNCTIONS: Final[dict[str, Any]] = {"t": None, "tn": (2, 3)}
"""Functions of messages, and which of their arguments are the text of one and of many."""
PYTHON_FUNCTIONS: Final[dict[str, Any]] = {**FUNCTIONS, "message": None}
DOMAINS: Final = {
    "page": ("tinyssb_node/web/static/*.js", "tinyssb_node/web/static/index.html"),
    "node": ("tinyssb_node/**/*.py",),
    "errors": (
        "tinyssb_node/errors.py",
        "tinyssb_node/catalog/*.py",
        "tinyssb_node/cli/heldfile.py",
        *(
            f"tinyssb_node/cli/commands/{name}.py"
            for name in ("attach", "chat", "group", "inbox", "node", "people", "search")
        ),
        *(f"tinyssb_node/content/{name}.py" for name in ("chat", "contacts", "files", "phones")),
        *(f"tinyssb_node/control/{name}.py" for name in ("access", "client")),
        *(
            f"tinyssb_node/daemon/{name}.py"
            for name in ("feed_names", "group_handler", "handler", "identity_manager")
        ),
        "tinyssb_node/gossip/certainty.py",
        "tinyssb_node/groups/faults.py",
        "tinyssb_node/groups/manager.py",
        "tinyssb_node/screens/[!p]*.py",
        "tinyssb_node/screens/people.py",
        "tinyssb_node/store/home.py",
        "tinyssb_node/tui/command.py",
        *(
            f"tinyssb_node/web/{name}.py"
            for name in (
                "access",
                "app",
                "boards",
                "errors",
                "guests",
                "page_service",
                "people",
                "phones",
                "position",
                "recordings",
                "request_fields",
                "views",
            )
        ),
    ),
}
"""Files of the messages of each catalogue."""
HEADER: Final = r"""# How to translate: docs/howto/languages.md
msgid ""
msgstr ""
"Language: {language}\n"
"Plural-Forms: {plural}\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""
"""First entry of each catalogue; dates and names of people are in the history of the repository."""
_MARKED: Final = re.compile(rb'data-message>([^<]+)<|aria-label="([^"]+)" data-label')


def _marked(file: IO[bytes], *_: object, **_options: object) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield the marked texts of a document, as Babel wants them: line, function, message, comments."""
    for number, line in enumerate(file, 1):
        for found in _MARKED.finditer(line):
            yield number, "t", (found[1] or found[2]).decode(), []


def _called(
    file: IO[bytes], *_: object, **_options: object
) -> Iterator[tuple[int, str, list[str | None], list[str]]]:
    """Yield the messages of a Python module, if it has any. Babel's own reader sees none in f-strings before Python
    3.12."""
    text = file.read().decode()
    if "from tinyssb_node.screens.languages import" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in PYTHON_FUNCTIONS
        ):
            constants = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
            given = [one if isinstance(one, str) else None for one in constants]
            yield node.lineno, node.func.id, given, []


METHODS: Final[dict[str, Any]] = {
    ".js": "javascript",
    ".py": _called,
    ".html": _marked,
    "errors": error_texts,
}
"""Readers of messages by the end of a file's name, or by domain."""
OPTIONS: Final[dict[str, Any]] = {"parse_template_string": True, "jsx": False}


def messages(domain: str) -> Catalog:
    """Return all messages of a domain, without translations."""
    catalogue = Catalog(project="tinySSB node", fuzzy=False)
    for path in sorted(path for pattern in DOMAINS[domain] for path in ROOT.glob(pattern)):
        functions = PYTHON_FUNCTIONS if path.suffix == ".py" else FUNCTIONS
        with path.open("rb") as file:
            for line, text, comments, _ in extract(
                METHODS.get(domain) or METHODS[path.suffix],
                file,
                functions,
                ["Translators:"],
                options=OPTIONS,
            ):
                catalogue.add(text, None, [(str(path.relative_to(ROOT)), line)], auto_comments=comments)
    return catalogue


def path_of(language: str, domain: str) -> Path:
    """Return where a catalogue is."""
    return CATALOGUES / language / f"{domain}.po"


def read(language: str, domain: str) -> Catalog:
    """Return the catalogue of a language."""
    with path_of(language, domain).open("rb") as file:
        return read_po(file, locale=language)


def write(catalogue: Catalog, path: Path) -> None:
    """Write a catalogue, with a header that changes with nothing but the language."""
    text = BytesIO()
    write_po(text, catalogue, width=110, omit_header=True, ignore_obsolete=True, include_lineno=False)
    header = HEADER.format(language=catalogue.locale, plural=catalogue.plural_forms)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + text.getvalue().decode(), "utf-8")


def update(language: str, domain: str) -> None:
    """Bring a catalogue up to date with the code, or begin it: new messages are empty, those that are gone are removed,
    similar ones are marked as fuzzy."""
    path = path_of(language, domain)
    catalogue = read(language, domain) if path.exists() else Catalog(locale=language, fuzzy=False)
    catalogue.update(messages(domain))
    write(catalogue, path)

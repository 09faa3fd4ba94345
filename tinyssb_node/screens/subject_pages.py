"""Read-only pages of optional subjects, such as PZP, for the terminal screen and the web page."""

from dataclasses import dataclass

from tinyssb_node.daemon import subjects
from tinyssb_node.store.home import Home


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """Text about the data that a subject stores in a node's home."""

    title: str
    lines: tuple[str, ...]
    """Unescaped: some of it is text of strangers."""


def subject_pages(home: Home) -> list[SubjectPage]:
    """Return the pages of all subjects that store something in *home*. Raises LocalError."""
    pages = []
    for subject in subjects.present():
        if subject.page is not None:
            title, lines = subject.load(subject.page).read_page(home)
            if lines:
                pages.append(SubjectPage(title, tuple(lines)))
    return pages

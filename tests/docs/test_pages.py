"""Links and names on the pages: their targets exist."""

import re
from pathlib import Path

from tests.architecture.sources import ROOT, files, markdown_files, name_of
from tests.docs import pages


def test_every_relative_link_leads_somewhere() -> None:
    broken = []
    for place in pages.links():
        if re.match(r"[a-z]+:", place.text):
            continue
        name, _, anchor = place.text.partition("#")
        target = (place.path.parent / name).resolve() if name else place.path
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            broken.append(str(place))
    assert broken == []


def test_every_decision_is_in_the_index_under_its_title() -> None:
    folder = ROOT / "docs/decisions"
    records = {path.name: path for path in files() if path.parent == folder and path.name != "README.md"}
    assert [name for name in records if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)] == []
    numbers = [name[:4] for name in records]
    assert sorted(set(numbers)) == numbers
    expected = []
    for name, path in records.items():
        title = path.read_text("utf-8").splitlines()[0]
        heading = re.fullmatch(rf"# {name[:4]}: (.+)", title)
        assert heading is not None, f"{name} begins with {title!r}, not with '# {name[:4]}: …'"
        expected.append(f"| [{name[:4]}]({name}) | {heading[1]} |")
    index = pages.read("docs/decisions/README.md").splitlines()
    assert [line for line in index if re.match(r"\| \[\d{4}\]", line)] == expected


def test_every_page_can_be_found_from_the_readme() -> None:
    seen = {ROOT / "README.md"}
    waiting = list(seen)
    linked: dict[Path, list[Path]] = {}
    for place in pages.links():
        linked.setdefault(place.path, []).append((place.path.parent / place.text.partition("#")[0]).resolve())
    while waiting:
        for target in linked.get(waiting.pop(), []):
            if target in seen or not str(target).endswith(".md"):
                continue
            seen.add(target)
            waiting.append(target)
    assert [name_of(page) for page in markdown_files() if page not in seen] == []

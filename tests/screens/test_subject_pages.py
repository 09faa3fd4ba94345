import pytest

from tests.daemon.processes import make_home
from tinyssb_node.daemon import subjects
from tinyssb_node.screens.subject_pages import subject_pages
from tinyssb_node.store.home import Home


def test_a_node_that_stores_nothing_of_optional_subjects_has_no_pages(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(tmp_path / "home")
    assert subject_pages(Home(tmp_path / "home")) == []
    monkeypatch.setattr(subjects, "present", lambda: ())
    assert subject_pages(Home(tmp_path / "home")) == []

"""A home of Ana's, with what three people said to each other."""

import pytest

from tests.catalog.mesh import ANSWER, EVIL, NAME, SECRET, SOUP, Author, Home
from tinyssb_node.catalog import schema


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home", Author("ana"))
    home.keep([SOUP, ANSWER, SECRET, NAME, EVIL], commit=False)
    yield home
    home.close()


@pytest.fixture
def path(home):
    return home.folder / schema.CATALOG_FILE


@pytest.fixture
def connections(monkeypatch):
    """Collect the connections that catalogs open, so that a test can limit or damage what is behind them."""
    opened, connect = [], schema.connect

    def recorded(*args, **kwargs):
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(schema, "connect", recorded)
    return opened


@pytest.fixture
def catalog(home):
    with home.catalog() as catalog:
        catalog.catch_up()
        yield catalog

"""The reference pages say what the code says."""

import pytest

import palaver
from tools import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_is_what_the_code_says(name):
    written = (reference.DOCS / name).read_text()
    assert written == reference.PAGES[name](), f"docs/{name}: run python tools/reference.py"


def test_every_public_name_is_in_the_reference():
    told = [name for names in reference.GROUPS.values() for name in names]
    assert sorted(told) == sorted(palaver.__all__)

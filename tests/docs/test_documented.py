"""Documentation that is not true fails here."""

import inspect
import re
from pathlib import Path

import pytest

import palaver
from palaver.cli import app
from palaver.corpus.names import ALIASES
from palaver.corpus.notes import KINDS
from palaver.corpus.readers import FORMATS
from palaver.models.registry import MODELS, TAGGERS, model_class, tagger_class

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_format_and_every_kind_of_dirt_is_documented():
    text = (DOCS / "formats.md").read_text()
    for known in FORMATS:
        assert f"**{known.name}**" in text, known.name
    for kind, (severity, words) in KINDS.items():
        assert f"| `{kind}` | {severity} | {words} |" in text, kind


def test_every_known_name_of_a_column_is_documented():
    text = (DOCS / "your_data.md").read_text()
    for ours, aliases in ALIASES.items():
        listed = ", ".join(f"`{alias}`" for alias in aliases)
        assert f"| `{ours}` | {listed} |" in text, ours


def test_every_verb_has_an_example():
    for command in app.registered_commands:
        told = inspect.getdoc(command.callback)
        assert f"Example: `palaver {command.name}" in told, command.name
    # docs/cli.md has them all: tests/architecture/test_reference.py


#: What every page of a model has, in this order; other parts come after.
PARTS = ["In short", "The story", "Parameters that matter", "How to read it", "Cost"]


@pytest.mark.parametrize("name", [*MODELS, *TAGGERS])
def test_every_model_has_a_page_of_the_same_shape_and_documents_its_parameters(name):
    kind = tagger_class(name) if name in TAGGERS else model_class(name)
    path = DOCS / "models" / f"{name.replace('-', '_')}.md"
    page, shared = path.read_text(), (DOCS / "models" / "README.md").read_text()
    assert "\n**For**: " in page
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading for heading in headings if heading in PARTS] == PARTS
    assert f"]({path.name})" in shared
    for parameter in kind().get_params():
        assert re.search(rf"\b{parameter}\b", kind.__doc__), f"{name}: {parameter}"
        assert f"`{parameter}`" in page + shared, f"{path.name}: {parameter}"


def test_every_public_name_has_words_beside_the_reference():
    text = (ROOT / "README.md").read_text()
    text += "".join(p.read_text() for p in DOCS.rglob("*.md") if p.name != "python.md")
    for name in palaver.__all__:
        assert f"pv.{name}" in text, name


def anchors(page):
    """Return what a forge calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return set(plain)


def test_links_between_pages_lead_somewhere():
    for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"(?:\]\(| src=\")([^)\"\s:]+)[)\"]", page.read_text()):
            path, _, anchor = target.partition("#")
            there = page.parent / path if path else page
            assert there.exists(), f"{page.name} -> {target}"
            if anchor:
                assert anchor in anchors(there), f"{page.name} -> {target}"


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text()
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name in ("README.md",) or f"]({name})" in index, name


def test_every_exact_and_statistical_test_is_on_the_page_of_verification():
    text = (DOCS / "verification.md").read_text()
    for folder in ("exact", "statistical", "cluster"):
        for path in (ROOT / "tests" / folder).glob("test_*.py"):
            assert f"tests/{folder}/{path.name}" in text, path.name
    for named in re.findall(r"tests/[a-z0-9_/]+(?:\.py)?", text):
        assert (ROOT / named).exists(), named

"""Documentation that fails when it is not true."""

import re
from pathlib import Path

import pytest

from palaver.cli import app
from palaver.corpus.notes import KINDS
from palaver.corpus.readers import FORMATS
from palaver.models import MODELS, model_class

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_format_and_every_kind_of_dirt_is_documented():
    text = (DOCS / "formats.md").read_text()
    for known in FORMATS:
        assert f"**{known.name}**" in text, known.name
    for kind, (severity, words) in KINDS.items():
        assert f"| `{kind}` | {severity} | {words} |" in text, kind


def test_every_verb_is_in_the_readme_or_the_docs():
    text = (ROOT / "README.md").read_text() + "".join(p.read_text() for p in DOCS.rglob("*.md"))
    for command in app.registered_commands:
        assert f"palaver {command.name}" in text, command.name


def test_example_of_rebuilt_threads_runs():
    """The block of docs/evaluation.md that rebuilds replies, as it stands there."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "evaluation.md").read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "model.reconstruct" in block]
    values: dict = {}
    exec(example, values)
    assert values["beside"]["random"] < values["accuracy"] <= 1
    assert values["found"].columns == ["conversation", "id", "parent", "parent_row"]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_page_and_documents_its_parameters(name):
    kind = model_class(name)
    assert (DOCS / "models" / f"{name.replace('-', '_')}.md").is_file()
    for parameter in kind().get_params():
        assert re.search(rf"\b{parameter}\b", kind.__doc__), f"{name}: {parameter}"


def test_links_between_pages_lead_somewhere():
    for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_exact_and_statistical_test_is_on_the_page_of_verification():
    text = (DOCS / "verification.md").read_text()
    for folder in ("exact", "statistical", "cluster"):
        for path in (ROOT / "tests" / folder).glob("test_*.py"):
            assert f"tests/{folder}/{path.name}" in text, path.name
    for named in re.findall(r"tests/[a-z0-9_/]+(?:\.py)?", text):
        assert (ROOT / named).exists(), named

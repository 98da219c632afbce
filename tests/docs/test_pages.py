"""Every block of the documentation runs, or says why not; see ``tools/blocks.py``."""

from pathlib import Path

import pytest

from tools import blocks

PAGES = {str(page.relative_to(blocks.ROOT)): page for page in blocks.pages()}
FOUND = {name: blocks.blocks(page) for name, page in PAGES.items()}
EXACT = ("docs/your_data.md",)  # what is printed here depends on no chain


@pytest.mark.parametrize("name", [name for name in FOUND if any(
    block.kind == "python" or name in blocks.RUN for block in FOUND[name])])  # fmt: skip
def test_blocks_run(name, tmp_path):
    results = list(blocks.run(PAGES[name], tmp_path))
    if name in EXACT:
        for block, printed in blocks.shown(PAGES[name], results):
            assert block.text == printed, f"{block.where}: refresh with python tools/blocks.py"


@pytest.mark.parametrize("name", FOUND)
def test_commands_exist_and_know_their_options(name):
    for block in FOUND[name]:
        for command in block.commands() if block.kind == "sh" else []:
            try:
                blocks.parse(command)
            except Exception as error:
                pytest.fail(f"{block.where}: palaver {' '.join(command)}: {error}")


@pytest.mark.parametrize("name", FOUND)
def test_blocks_say_what_they_are(name):
    """Each fence has a kind, what is not run is still Python, and code is not hidden by indent."""
    prose = blocks.prose(PAGES[name])
    assert "\n```" not in prose, f"{name}: a fence without a kind"
    for block in FOUND[name]:
        if block.kind == "python":
            compile(block.text, block.where, "exec")
    for line in prose.splitlines():
        hidden = line.startswith(("    palaver ", "    model = pv.", "    pv."))
        assert not hidden, f"{name}: code belongs into a fenced block: {line}"


def test_what_a_page_shows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "page.md"
    page.write_text(
        "```csv talk.csv\ntext\nhello\n```\n```sh\npalaver check talk.csv --strict\n```\n"
        "```text\nold\n```\n<!-- not run: for the test -->\n```python\nraise SystemExit\n```\n"
        "<!-- python\nfrom pathlib import Path\n-->\n"
        "```python\nassert Path('talk.csv').read_text() == 'text\\nhello\\n'\n```\n"
    )
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    monkeypatch.setattr(blocks, "RUN", ("page.md",))
    (tmp_path / "folder").mkdir()
    results = list(blocks.run(page, tmp_path / "folder"))
    ((block, printed),) = blocks.shown(page, results)
    assert block.text == "old\n"
    assert "talk.csv" in printed
    with pytest.raises(ValueError, match="no verb"):
        blocks.parse(["chek", "talk.csv"])
    with pytest.raises(Exception, match="--strickt"):
        blocks.parse(["check", "talk.csv", "--strickt"])

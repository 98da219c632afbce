"""docs/architecture.md lists the packages and files that exist."""

import re
from pathlib import Path

import palaver

SOURCE = Path(palaver.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_files_and_names_on_the_page_exist():
    text = PAGE.read_text()
    named = re.findall(r"`([a-z_0-9]+/[a-z_0-9/]+\.py)`(?:: ((?:`\w+`(?:, )?)+))?", text)
    assert len(named) > 20
    for file, names in named:
        path = SOURCE / file if (SOURCE / file).exists() else PAGE.parents[1] / file
        assert path.is_file(), f"{file} is gone; say in {PAGE.name} where its work is done now"
        for name in re.findall(r"\w+", names):
            defined = re.search(rf"^(?:def|class) {name}\b", path.read_text(), re.MULTILINE)
            assert defined, f"there is no {name} in {file} any more; say in {PAGE.name} where it is"


def test_every_package_of_the_models_is_on_the_page():
    text = PAGE.read_text().partition("## The models")[2].partition("\n## ")[0]
    packages = {path.parent.name for path in (SOURCE / "models").glob("*/__init__.py")}
    listed = set(re.findall(r"^\| `(\w+)/`", text, re.MULTILINE))
    assert listed == packages, f"the table of the models in {PAGE.name} differs"


def test_every_package_has_a_line():
    table = PAGE.read_text().partition("| line |")[2].partition("\n## ")[0]
    listed = set(
        re.findall(r"`(\w+)`", "".join(row.split("|")[2] for row in table.splitlines()[2:] if row))
    )
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py"}
    rooms |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert listed == rooms - {"__init__", "__main__"}

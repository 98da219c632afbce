"""Adding a model is copying a folder and adding a line, as docs/adding_a_model.md says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import palaver

SOURCE, TESTS = Path(palaver.__file__).parent, Path(__file__).parents[1]
LINE = '    Name("Copied", "palaver.models.copied", "model", "copied"),\n'


def add_model(package: Path) -> None:
    """Do what the guide says, to a copy of the package."""
    folder = package / "models" / "copied"
    shutil.copytree(package / "models" / "skeleton", folder)
    for path in folder.rglob("*.py"):
        text = path.read_text().replace("Skeleton", "Copied").replace("skeleton", "copied")
        path.write_text(text)
    names = package / "names.py"
    before, rest = names.read_text().split('    Name("Skeleton"')
    names.write_text(f'{before}{LINE}    Name("Skeleton"{rest}')


def test_a_copy_of_the_skeleton_passes_the_contract(tmp_path):
    package = tmp_path / "palaver"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    add_model(package)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    battery = TESTS / "contract" / "test_every_model.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "copied"]
    found = subprocess.run(
        [*command, battery], cwd=TESTS.parent, env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout[-3000:]
    assert int(found.stdout.split(" passed")[0].split()[-1]) > 20
    code = "import palaver as pv; print(pv.__file__, pv.Copied().name)"
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == [str(package / "__init__.py"), "copied"]

"""The lock file and the table of licences name everything that is asked for."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def asked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + [
        line for name, own in extras.items() if name != "bench" for line in own
    ]
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in lines}


def test_every_dependency_is_locked_and_has_a_licence():
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.M))
    listed = re.findall(r"^\| ([\w.-]+) \| \d", (ROOT / "docs/dependencies.md").read_text(), re.M)
    assert asked() - locked == set()
    assert asked() - set(listed) == set()


def test_locked_versions_satisfy_what_is_asked_for():
    from packaging.requirements import Requirement

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    locked = dict(line.split("==") for line in lines if "==" in line)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(locked[wanted.name.lower()]), line

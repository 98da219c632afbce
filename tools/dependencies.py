"""What Palaver depends on: a lock file, licences, known holes, the newest versions.

    python tools/dependencies.py lock       writes constraints.txt from this environment
    python tools/dependencies.py licences   writes the table of docs/dependencies.md
    python tools/dependencies.py audit      asks pip-audit about the versions in constraints.txt
    python tools/dependencies.py newest     tests the newest versions in a fresh environment

The last two need a network; run them on a schedule.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK, PAGE = ROOT / "constraints.txt", ROOT / "docs" / "dependencies.md"
QUICK = ("tests/unit/test_doors.py", "tests/unit/test_encode.py", "tests/unit/readers",
         "tests/unit/test_store.py", "tests/exact/test_lda.py", "tests/architecture")  # fmt: skip
_BETWEEN = re.compile(r"(<!-- licences -->\n).*?(<!-- end -->)", re.S)


def needed(extras: tuple[str, ...]) -> dict[str, str]:
    """Return all packages that Palaver with some extras needs, directly or not, and why."""
    found: dict[str, str] = {}
    waiting = [("palaver", extra, "") for extra in ("", *extras)]
    while waiting:
        name, extra, why = waiting.pop()
        try:
            wanted = own_requirements(extra) if name == "palaver" else distribution(name).requires
        except PackageNotFoundError:  # not for this Python or platform
            found.pop(name, None)
            continue
        for line in wanted or []:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            own = canonicalize_name(requirement.name)
            reason = why or (f"extra {extra}" if extra else "always")
            if own == "palaver" or found.get(own) in (reason, "always"):
                continue
            found[own] = reason
            waiting += [(own, more, reason) for more in ("", *requirement.extras)]
    return dict(sorted(found.items()))


def own_requirements(extra: str) -> list[str]:
    """Return what pyproject.toml asks for: always, or with an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return lines


def licence_of(name: str) -> str:
    """Return the licence of an installed package, by its metadata."""
    facts = distribution(name).metadata
    kinds = [line.rpartition("::")[2].strip() for line in facts.get_all("Classifier") or []
             if line.startswith("License ::")]  # fmt: skip
    said = facts.get("License-Expression") or ", ".join(kind for kind in kinds if kind)
    first = (facts.get("License") or "").strip().split("\n")[0]
    return (said if said and said != "OSI Approved" else first)[:60] or "see the package"


def lock() -> int:
    """Write the versions of this environment."""
    extras = ("test", "ray", "notebook", "pictures", "explore")
    names = [name for name in needed(extras) if _version(name)]
    head = "# Versions with which all tests pass; made by tools/dependencies.py lock.\n"
    LOCK.write_text(head + "".join(f"{name}=={_version(name)}\n" for name in names))
    return 0


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return ""


def licences() -> int:
    """Write the table of the page."""
    rows = ["| package | version | licence | needed |", "|---|---|---|---|"]
    for name, why in needed(("ray", "notebook", "pictures", "explore", "crf", "test")).items():
        if _version(name):
            rows.append(f"| {name} | {_version(name)} | {licence_of(name)} | {why} |")
    text = _BETWEEN.sub(lambda found: found[1] + "\n".join(rows) + "\n" + found[2],
                        PAGE.read_text(encoding="utf-8"))  # fmt: skip
    PAGE.write_text(text, encoding="utf-8")
    return 0


def audit() -> int:
    """Ask for known holes."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--no-deps"]
    return subprocess.run(command, check=False).returncode


def newest() -> int:
    """Install the newest versions into a fresh environment and run some tests."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        python = str(Path(place, "bin", "python"))
        for command in (
            [python, "-m", "pip", "install", "-q", "--upgrade", f"{ROOT}[test]"],
            [python, "-m", "pip", "list"],
            [python, "-m", "pytest", "-q", *QUICK],
        ):
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            if code:
                return code
    return 0


if __name__ == "__main__":
    verbs = {"lock": lock, "licences": licences, "audit": audit, "newest": newest}
    if sys.argv[1:2] == [] or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    sys.exit(verbs[sys.argv[1]]())

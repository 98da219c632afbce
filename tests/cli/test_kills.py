"""Writing verbs that are killed at any file; hundreds of times by `python fuzz/kills.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[2] / "fuzz" / "kills.py"


@pytest.mark.parametrize(("only", "kills"), [("ConvoKit", 3), ("fit lda", 3)])
def test_killed_verbs_leave_the_old_or_the_new(only, kills):
    done = subprocess.run(
        [sys.executable, str(KILLS), "--kills", str(kills), "--only", only],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"| all | | {kills} | {kills} | 0 |" in done.stdout

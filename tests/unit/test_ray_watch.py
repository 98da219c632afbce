"""A run whose raylet dies says so; one that ends as it should says nothing."""

import subprocess
import sys

SCRIPT = """
import subprocess, sys, time
from palaver.parallel.cluster import Watch
process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
watch = Watch(process)
if sys.argv[1] == "stopped":
    watch.stop()
process.kill()
process.wait()
time.sleep(5 if sys.argv[1] == "watched" else 0.3)
print("alive")
"""


def run(how):
    return subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True)


def test_a_dead_raylet_is_named():
    done = run("watched")
    assert done.returncode == 1
    assert "raylet" in done.stderr
    assert "palaver fit --resume" in done.stderr
    assert "alive" not in done.stdout


def test_after_the_end_nobody_looks():
    done = run("stopped")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "alive", "")

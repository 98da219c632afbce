"""Imports go one way, and a few things are never imported or called at all."""

import ast
import subprocess
import sys
from pathlib import Path

import palaver

SOURCE = Path(palaver.__file__).parent

#: Each line may import those above it, and rooms of its own line only as listed in NEIGHBOURS.
LINES = [
    {"errors", "params", "rng"},
    {"store", "kernels", "draw"},
    {"corpus", "parallel"},
    {"encode", "language"},
    {"fit", "evaluate"},
    {"models"},
    {"ranking", "threads", "trials"},
    {"page"},
    {"cli"},
]
NEIGHBOURS = {("params", "errors"), ("rng", "errors")}
LEVEL = {room: level for level, rooms in enumerate(LINES) for room in rooms}


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or room(path))


def room(path: Path) -> str:
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "" if part in ("__init__", "__main__") else part


def imported_modules(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "palaver":
                yield from (f"palaver.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_room_has_a_line():
    rooms = {room(path) for path in SOURCE.rglob("*.py")} - {""}
    assert rooms <= set(LEVEL)


def test_imports_go_one_way():
    wrong = []
    for path in modules():
        mine = room(path)
        for name in imported_modules(path):
            parts = name.split(".")
            if parts[0] != "palaver" or len(parts) < 2 or parts[1] not in LEVEL:
                continue
            theirs = parts[1]
            allowed = theirs == mine or LEVEL[theirs] < LEVEL[mine] or (mine, theirs) in NEIGHBOURS
            if not allowed:
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert wrong == []


def test_models_do_not_import_each_other():
    shared = {"answers", "base", "gaussian_acts", "gaussian_parts", "heldout",
              "hidden_backoff_engine", "hidden_decoding", "hidden_limits", "hidden_states",
              "hidden_tables", "hidden_words", "looks", "manners", "parts", "reconstruct",
              "registry", "shares", "simulate", "summary", "tag_moves", "tagged", "tagger",
              "tagger_search", "thread_model", "transitions", "vector_engine", "vector_limits",
              "vector_model"}  # fmt: skip
    shared |= {"document_heldout", "document_model", "document_parts", "markov_m3_engine",
               "topic_graph", "guided", "m4_conditions", "m4_general", "m4_learning",
                   "m4_plain"}  # fmt: skip
    shared |= {"infinite_answers", "infinite_emissions", "infinite_engine", "infinite_labels",
               "infinite_priors", "infinite_tags"}  # fmt: skip
    wrong = []
    for path in (SOURCE / "models").glob("*.py"):
        if path.stem in shared | {"__init__"}:
            continue
        for name in imported_modules(path):
            if name.startswith("palaver.models.") and name.split(".")[2] not in shared:
                wrong.append(f"{path.name} imports {name}")
    assert wrong == []


def test_kernels_know_numpy_scipy_and_numba_only():
    known = {"numba", "llvmlite", "numpy", "scipy", "palaver", *sys.stdlib_module_names}
    for path in (SOURCE / "kernels").glob("*.py"):
        for name in imported_modules(path):
            assert name.split(".")[0] in known, f"{path.name} imports {name}"
            assert not name.startswith("palaver.") or name.startswith("palaver.kernels"), path


#: Code that data could smuggle in, and shells.
NEVER = {"pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib", "subprocess", "pty"}


def test_nothing_dangerous():
    calls = {"eval", "exec", "compile", "__import__"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in calls, f"{path}:{node.lineno}"
        for name in imported_modules(path):
            assert name.split(".")[0] not in NEVER, path


def test_time_is_measured_by_a_clock_that_only_goes_forward():
    for path in [*(SOURCE / "fit").glob("*.py"), *(SOURCE / "parallel").glob("*.py")]:
        assert "time.time()" not in path.read_text(), path


def test_import_is_lazy():
    code = "import sys, palaver; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    for heavy in ("numba", "polars", "scipy", "sklearn", "rich"):
        assert f"'{heavy}'" not in loaded


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom palaver.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "'typer'" in loaded
    for heavy in ("numba", "polars", "scipy", "sklearn", "numpy"):
        assert f"'{heavy}'" not in loaded


def test_public_names_are_all_there():
    assert set(palaver.__all__) == set(palaver._HOMES)
    for name in palaver.__all__:
        assert getattr(palaver, name) is not None

"""Imports go one way, and a few things are never imported or called at all."""

import ast
import subprocess
import sys
from pathlib import Path

import palaver
from palaver.models.registry import MODELS, TAGGERS

SOURCE = Path(palaver.__file__).parent

#: Each line may import those above it, and rooms of its own line only as listed in NEIGHBOURS.
LINES = [
    {"errors", "names", "params", "rng"},
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


def dotted(path: Path) -> str:
    return ".".join(("palaver", *path.relative_to(SOURCE).with_suffix("").parts))


def system_of(module: str) -> str | None:
    """The system that a module belongs to: the home of a registered model, and what is below."""
    homes = {home for home, _ in (MODELS | TAGGERS).values()}
    return next((h for h in homes if module == h or module.startswith(h + ".")), None)


def test_a_system_imports_what_is_shared_and_itself():
    wrong = []
    for path in (SOURCE / "models").rglob("*.py"):
        mine = system_of(dotted(path))
        theirs = {system_of(name) for name in imported_modules(path)} - {None, mine}
        wrong += [f"{path.relative_to(SOURCE)} imports {other}" for other in theirs]
    assert wrong == []


def test_kernels_know_numba_numpy_scipy_and_kernels():
    known = {"numba", "llvmlite", "numpy", "scipy", *sys.stdlib_module_names}
    wrong = []
    for path in SOURCE.rglob("kernels/**/*.py"):
        names = dotted(path).split(".")
        own = ".".join(names[: len(names) - names[::-1].index("kernels")])
        for name in imported_modules(path):
            ours = name == "palaver.kernels" or name.startswith(("palaver.kernels.", own + "."))
            if not (ours or name == own or name.split(".")[0] in known):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert wrong == []


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
    for name in palaver.__all__:
        assert getattr(palaver, name).__name__.rpartition(".")[2] == name


def test_type_checkers_see_the_same_names():
    hidden = next(n for n in ast.parse((SOURCE / "__init__.py").read_text()).body
                  if isinstance(n, ast.If))  # fmt: skip
    seen = {(alias.asname, node.module) for node in hidden.body for alias in node.names}
    homes = set(palaver._HOMES.items()) - {("evaluate", "palaver.evaluate")}
    assert seen == homes | {("evaluate", "palaver")}

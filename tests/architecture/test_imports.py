"""Imports go one way, and a few things are never imported or called at all."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import palaver
from palaver.models.registry import MODELS, TAGGERS

SOURCE = Path(palaver.__file__).parent

#: Each line may import those above it, and rooms of its own line only as listed in NEIGHBOURS.
LINES = [
    {"errors", "names", "params", "rng"},
    {"store", "kernels", "draw"},
    {"corpus", "curation", "endpoint", "parallel"},
    {"encoding", "language"},
    {"fit", "evaluate"},
    {"models"},
    {"ranking", "threads", "trials"},
    {"questions"},
    {"page"},
    {"explore"},
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
    """Yield the dotted names that a file imports: modules, and what is taken from them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: import by the whole name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
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
        assert not wall_clocks(ast.parse(path.read_text())), path


def wall_clocks(tree):
    """Return the names by which code asks for the time of day, however it imports them."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
               for alias in node.names if alias.name == "time"}  # fmt: skip
    asked = [node.attr for node in attributes if getattr(node.value, "id", "") in modules]
    asked += [alias.name for node in imports if node.module == "time" for alias in node.names]
    return {"time", "time_ns"} & {*asked}


@pytest.mark.parametrize(
    "code",
    ["import time\ntime.time()", "import time as t\nt.time_ns()", "from time import time as now"],
)
def test_every_way_to_ask_for_the_time_of_day_is_seen(code):
    assert wall_clocks(ast.parse(code))
    assert not wall_clocks(ast.parse("import time\ntime.monotonic()"))


def test_import_is_lazy():
    code = "import sys, palaver; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "'palaver'" in loaded
    for heavy in ("numba", "numpy", "polars", "scipy", "sklearn", "rich"):
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


def test_public_names_are_what_they_say():
    assert set(palaver.__all__) == set(palaver._HOMES)
    for name in palaver.__all__:
        value = getattr(palaver, name)
        assert value.__name__.removeprefix("palaver.") == name
        assert value.__doc__, name
        assert name in dir(palaver)


def test_editors_see_the_names_where_they_are_loaded_from():
    """What type checkers import and what is loaded at run time are the same."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    rooms = {name: "palaver" for name, home in palaver._HOMES.items() if home == f"palaver.{name}"}
    assert seen == palaver._HOMES | rooms


def test_classes_are_not_split_by_inheritance():
    for path in (SOURCE / "models").rglob("*.py"):
        module = import_module(dotted(path).removesuffix(".__init__"))
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                ours = [c for c in kind.__mro__[1:] if c.__module__.startswith("palaver.")]
                assert len(ours) <= 3, f"{kind}: {ours}"

"""Kernels that are compiled without a way in from Python are called by kernels only."""

import ast
from pathlib import Path

import palaver

SOURCE = Path(palaver.__file__).parent
ROOT = SOURCE.parents[1]
COMPILED = {"inner", "kernel", "njit"}


def name_of(node: ast.AST | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def decorator(node: ast.AST) -> str | None:
    """Return what a function is compiled with, if it is."""
    for found in getattr(node, "decorator_list", []):
        name = name_of(found.func if isinstance(found, ast.Call) else found)
        if name in COMPILED:
            return name
    return None


def module_of(path: Path) -> str:
    base = SOURCE.parent if path.is_relative_to(SOURCE) else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts)


def used_by_python(path: Path, tree: ast.Module):
    """Yield module and name of what a file uses outside compiled functions."""
    homes = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            homes |= {a.asname or a.name: (node.module, a.name) for a in node.names}
    open_nodes = [tree]
    while open_nodes:
        node = open_nodes.pop()
        if decorator(node) or name_of(getattr(node, "func", None)) == "called":
            continue  # tests may compile an inner kernel for themselves
        if isinstance(node, ast.Name):
            yield homes.get(node.id, (module_of(path), node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield ".".join(homes.get(node.value.id, (node.value.id,))), node.attr
        open_nodes += ast.iter_child_nodes(node)


def test_python_calls_no_inner_kernel():
    folders = (SOURCE, *(ROOT / name for name in ("benchmarks", "fuzz", "tests", "tools")))
    texts = {path: path.read_text() for folder in folders for path in folder.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "kernels" in text}
    inner = {
        (module_of(path), node.name)
        for path, tree in trees.items()
        for node in tree.body
        if decorator(node) == "inner"
    }
    assert len(inner) > 100
    used = {place for path, tree in trees.items() for place in used_by_python(path, tree)}
    assert sorted(inner & used) == []

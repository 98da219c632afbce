"""Counting how often a function of Palaver is called, wherever it was imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any


def count_calls(monkeypatch: Any, function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """Return a list to which the arguments of each call from now on are added."""
    calls: list[tuple[Any, ...]] = []

    @wraps(function)
    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return function(*args, **options)

    modules = [module for name, module in sys.modules.items() if name.startswith("palaver")]
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is function:
                monkeypatch.setattr(module, name, counted)
    return calls

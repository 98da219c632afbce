"""Where sweeps run: executors hold the states of shards and sweep them, here or elsewhere."""

from palaver.parallel.executor import Arrays, Engine, Executor, Globals, Shards
from palaver.parallel.local import LocalExecutor

__all__ = ["Arrays", "Engine", "Executor", "Globals", "LocalExecutor", "Shards"]

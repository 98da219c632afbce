"""Executors: they hold the states of shards and sweep them, on this machine or others."""

from palaver.parallel.executor import Arrays, Engine, Executor, Globals, Shards
from palaver.parallel.local import LocalExecutor

__all__ = ["Arrays", "Engine", "Executor", "Globals", "LocalExecutor", "Shards"]

"""Work in threads: on one part of a file after another, a few ahead, or beside other work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

import polars as pl

Source = TypeVar("Source")
Result = TypeVar("Result")


def ahead(work: Callable[[Source], Result], sources: Iterable[Source]) -> Iterator[Result]:
    """Do the work for all sources in threads, a few ahead; yield the results in order.

    Polars' own number of threads (``POLARS_MAX_THREADS``) is the limit.
    """
    n_threads = pl.thread_pool_size()
    if n_threads == 1:
        yield from map(work, sources)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for source in sources:
            waiting.append(pool.submit(work, source))
            if len(waiting) > n_threads + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def beside(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do work in a thread while the body of a ``with`` statement runs, unless polars has only one.

    Yields
    ------
    callable
        Returns the result, as soon as it is there. Listeners of the caller hear of progress.
    """
    if pl.thread_pool_size() == 1:
        yield work
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(copy_context().run, work).result

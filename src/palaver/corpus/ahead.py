"""Work on one part of a file after another, in threads, a few parts ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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

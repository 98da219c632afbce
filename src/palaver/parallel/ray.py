"""Sweeps on the machines of a Ray cluster (extra ``ray``): ``RayExecutor(workers=8)``.

An actor holds some (chain, shard) places with their shards and states. Every round the driver
puts the globals of each chain into the object store once, actors sweep their places, and the
statistics come back in order: the same bytes as on threads of one process.

Nothing is lost with an actor, a worker process or a machine. The driver has a *ledger*: the
states of some round boundary, and the globals and keys of the rounds since. States that were lost
are put back on another actor and swept again through the rounds of the ledger; the actors that
live go on from where they are. The ledger is renewed before its globals outgrow the states, or
when a checkpoint gathers the states anyway. Only this module knows Ray.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.errors import MissingExtraError, ParameterError, WorkersError
from palaver.parallel.executor import Arrays, Engine, Globals, Shards, States
from palaver.store.remote import local_folder, url_of

#: Rounds after which the ledger is renewed at the latest: bounds the work of a recovery.
LONGEST_LEDGER = 50
#: Seconds to wait for an actor before its places are given to those that live.
PATIENCE = 60.0
#: Actors lost without a round done in between, after which the cluster is given up.
MOST_TROUBLES = 10
#: Share of the cells of an array of counts up to which only those in use are sent.
_SPARSE, _SMALL = 0.3, 1000

Place = tuple[int, int]
Keys = Mapping[int, NDArray[np.uint64]]
Ask = Callable[[Place], Any]


@dataclass
class Traffic:
    """What the last round moved and how long it took.

    Attributes
    ----------
    sent, received : int
        Bytes of globals put, once for all actors, and of statistics that came back.
    sweeping : float
        Seconds that actors spent in sweeps, added up.
    """

    sent: int = 0
    received: int = 0
    sweeping: float = 0.0


@dataclass(frozen=True)
class Broadcast:
    """Globals of all chains in the object store, with their number, keys and bytes."""

    number: int
    references: dict[int, Any]
    keys: Keys
    size: int


@dataclass
class Ledger:
    """States at a round boundary and what has happened since.

    Attributes
    ----------
    states : dict of (chain, shard) to arrays, or None
        None: they were opened, with ``opening``.
    opening : Broadcast or None
    rounds : list of Broadcast
    size : int
        Bytes of the globals of ``rounds``.
    """

    states: States | None = None
    opening: Broadcast | None = None
    rounds: list[Broadcast] = field(default_factory=list)
    size: int = 0


class RayExecutor:
    """An executor on the actors of a Ray cluster.

    Parameters
    ----------
    workers : int
        Actors, each on one core.
    address : str, optional
        Of a cluster that runs; "auto" finds it. Without, one is started on this machine.

    Notes
    -----
    Shards of a corpus that was opened from a folder (``Encoded.open``) are read there by the
    actors: the folder, or the URL, must be seen from all machines. Other data are sent once.
    """

    def __init__(self, workers: int = 2, address: str | None = None) -> None:
        if workers < 1:
            raise ParameterError(f"workers: at least 1 is needed, got {workers}")
        self.workers, self.address = workers, address
        self.traffic = Traffic()
        self._started_ray = False
        self._actors: dict[int, Any] = {}
        self._homes: dict[Place, int] = {}
        self._ledger = Ledger()
        self._n_broadcasts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def begin(self, engine: Engine, shards: Shards) -> None:
        """Take the engine and the data, and start the actors; those that live are kept."""
        self._ray = ray = _ray()
        if not ray.is_initialized():
            _connect(ray, self.workers, self.address)
            self._started_ray = True
        self._shards = shards
        self._engine = ray.put(engine)
        self._sent: dict[int, Any] = {}
        self._homes, self._ledger, self._troubles = {}, Ledger(), 0
        for number in range(self.workers):
            actor = self._actors.get(number)
            if actor is None:
                self._actors[number] = self._start(self._engine)
            else:  # if it has died since, the first question to it will tell
                actor.begin.remote(self._engine)

    def open(self, shared: Mapping[int, Globals], keys: Keys) -> None:
        """Open the states of all shards of the given chains."""
        self._settle(list(shared))
        self._ledger = Ledger(opening=self._broadcast(shared, keys))
        self._state_bytes = sum(size for _, size in self._ask(self._reopen, replayed=0))

    def restore(self, states: States) -> None:
        """Put back the states of a checkpoint."""
        self._settle(sorted({chain for chain, _ in states}))
        self._ledger = Ledger(states={place: dict(state) for place, state in states.items()})
        self._state_bytes = sum(size for _, size in self._ask(self._reopen, replayed=0))

    def round(self, shared: Mapping[int, Globals], keys: Keys) -> Iterator[tuple[int, Arrays]]:
        """Sweep all shards of the given chains; yield (chain, statistics) in order."""
        ledger, broadcast = self._ledger, self._broadcast(shared, keys)
        ledger.rounds.append(broadcast)
        ledger.size += broadcast.size
        self.traffic = Traffic(sent=broadcast.size)

        def sweep(place: Place) -> Any:
            return self._sweep(place, broadcast, wanted=True)

        before = len(ledger.rounds) - 1
        for place, (packed, size, seconds) in self._ask(sweep, replayed=before, again=sweep):
            self.traffic.received += size
            self.traffic.sweeping += seconds
            yield place[0], _unpacked(packed)
        self._troubles = 0
        if len(ledger.rounds) >= LONGEST_LEDGER or ledger.size > self._state_bytes:
            self._renew()

    def states(self) -> States:
        """Return the states by (chain, shard)."""
        if self._ledger.rounds or self._ledger.states is None:
            self._renew()
        return self._ledger.states or {}

    def end(self) -> None:
        """End a fit; states stay readable until the next one or :meth:`close`."""

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        for actor in self._actors.values():
            if self._ray.is_initialized():
                self._ray.kill(actor)
        self._actors = {}
        if self._started_ray:
            self._ray.shutdown()
            self._started_ray = False

    # what actors are asked

    def _ask(
        self, ask: Ask, *, replayed: int, again: Ask | None = None
    ) -> Iterator[tuple[Place, Any]]:
        """Ask for every place, a few ahead of the one that is waited for; yield in order.

        Parameters
        ----------
        ask : callable
            From a place to the reference of an answer.
        replayed : int
            Rounds of the ledger that a lost place must have behind it before it is asked.
        again : callable, optional
            To be asked, too, for lost places whose answer is known: what else changes states.
        """
        places = list(self._homes)
        asked: dict[Place, Any] = {}
        for i, place in enumerate(places):
            while True:
                for ahead in places[i : i + 2 * self.workers + 1]:
                    if ahead not in asked:
                        asked[ahead] = ask(ahead)
                try:
                    answer = self._ray.get(asked.pop(place))
                    break
                except _faults(self._ray) as fault:
                    for lost in self._recover(place, replayed, fault):
                        asked.pop(lost, None)
                        if again is not None and lost in places[:i]:
                            again(lost)
            yield place, answer

    def _reopen(self, place: Place) -> Any:
        """Put a place where the ledger begins; the answer is the size of its state."""
        chain, number = place
        actor, shard, ledger = self._actors[self._homes[place]], self._shard(number), self._ledger
        if ledger.states is not None:
            return actor.restore.remote(place, shard, ledger.states[place])
        opening = ledger.opening
        if opening is None:
            raise RuntimeError("no state was opened")
        return actor.open.remote(
            place, shard, opening.references[chain], opening.number, opening.keys[chain]
        )

    def _sweep(self, place: Place, broadcast: Broadcast, *, wanted: bool) -> Any:
        """Sweep a place; the answer is packed statistics, their size, and seconds."""
        actor = self._actors[self._homes[place]]
        chain = place[0]
        return actor.sweep.remote(
            place, broadcast.references[chain], broadcast.number, broadcast.keys[chain], wanted
        )

    def _renew(self) -> None:
        """Begin the ledger anew with the states of now."""

        def state(place: Place) -> Any:
            return self._actors[self._homes[place]].state.remote(place)

        states = dict(self._ask(state, replayed=len(self._ledger.rounds)))
        self._ledger = Ledger(states=states)
        self._state_bytes = sum(_bytes(state) for state in states.values())

    # places and faults

    def _settle(self, chains: list[int]) -> None:
        """Give every (chain, shard) an actor, in turns."""
        places = [(chain, shard) for chain in chains for shard in range(len(self._shards))]
        numbers = sorted(self._actors)
        self._homes = {place: numbers[i % len(numbers)] for i, place in enumerate(places)}

    def _broadcast(self, shared: Mapping[int, Globals], keys: Keys) -> Broadcast:
        """Put the globals of each chain into the object store, once for all actors."""
        self._n_broadcasts += 1
        return Broadcast(
            self._n_broadcasts,
            {chain: self._ray.put(values) for chain, values in shared.items()},
            dict(keys),
            sum(_bytes(values.arrays) for values in shared.values()),
        )

    def _shard(self, number: int) -> Any:
        """Return a reference to a shard, put once; arrays mapped from files go as their place."""
        if number not in self._sent:
            self._sent[number] = self._ray.put(portable(self._shards[number]))
        return self._sent[number]

    def _start(self, engine: Any) -> Any:
        """Start an actor; this does not wait for it."""
        actor = self._ray.remote(Worker).options(num_cpus=1, max_restarts=0).remote()
        actor.begin.remote(engine)
        return actor

    def _recover(self, place: Place, replayed: int, fault: Exception) -> list[Place]:
        """Replace the actor of a place that did not answer; return all places that it had.

        What goes wrong with the new one shows when its places are asked next.
        """
        self._troubles += 1
        if self._troubles > MOST_TROUBLES:
            reason = str(fault).partition("\n")[0]
            raise WorkersError(
                f"workers were lost {MOST_TROUBLES} times without a round done ({reason}); look "
                "at the cluster (memory, disk), then go on with --resume"
            ) from fault
        number = self._homes[place]
        lost = [p for p, home in self._homes.items() if home == number]
        self._replace(number, lost)
        for p in lost:
            self._reopen(p)
        for broadcast in self._ledger.rounds[:replayed]:
            for p in lost:
                self._sweep(p, broadcast, wanted=False)
        return lost

    def _replace(self, number: int, lost: list[Place]) -> None:
        """Start another actor, or, where there is no room for it, share its places out."""
        self._ray.kill(self._actors.pop(number))
        actor = self._start(self._engine)
        try:
            self._ray.get(actor.ready.remote(), timeout=PATIENCE if self._actors else None)
            self._actors[number] = actor
        except (self._ray.exceptions.GetTimeoutError, *_faults(self._ray)):
            self._ray.kill(actor)
            others = sorted(self._actors)
            for i, place in enumerate(lost):
                self._homes[place] = others[i % len(others)]


class Worker:
    """What runs in an actor's process: an engine, some places with their shards and states."""

    def __init__(self) -> None:
        self._limits = threadpool_limits(1)

    def ready(self) -> int:
        """Answer with the number of the process."""
        return os.getpid()

    def begin(self, engine: Engine) -> None:
        """Take another engine and forget all data."""
        self._engine = engine
        self._shards: dict[int, Any] = {}
        self._states: dict[Place, Arrays] = {}
        self._shared: dict[int, tuple[int, Globals]] = {}

    def open(
        self, place: Place, shard: Any, shared: Globals, number: int, key: NDArray[np.uint64]
    ) -> int:
        """Open the state of a place; return its size."""
        self._take(place, shard)
        shared = self._own(place[0], shared, number)
        state = self._engine.open(shared, self._shards[place[1]], np.array(key))
        self._states[place] = state
        return _bytes(state)

    def restore(self, place: Place, shard: Any, state: Arrays) -> int:
        """Put a state back; return its size."""
        self._take(place, shard)
        self._states[place] = {name: np.array(value) for name, value in state.items()}
        return _bytes(state)

    def sweep(
        self, place: Place, shared: Globals, number: int, key: NDArray[np.uint64], wanted: bool
    ) -> tuple[dict[str, Any], int, float]:
        """Sweep a place; return its packed statistics, their size, and the seconds it took."""
        shared = self._own(place[0], shared, number)
        start = time.perf_counter()
        state, shard = self._states[place], self._shards[place[1]]
        statistics = self._engine.sweep(shared, shard, state, np.array(key))
        seconds = time.perf_counter() - start
        packed = _packed(statistics) if wanted else {}
        return packed, sum(_bytes(part) for part in packed.values()), seconds

    def state(self, place: Place) -> Arrays:
        """Return the state of a place."""
        return self._states[place]

    def _take(self, place: Place, shard: Any) -> None:
        if place[1] not in self._shards:
            self._shards[place[1]] = received(shard)

    def _own(self, chain: int, shared: Globals, number: int) -> Globals:
        """Return globals whose arrays are this process' own.

        The object store's cannot be written to, a type of their own for which every kernel would
        be compiled once more; one copy serves all shards.
        """
        kept = self._shared.get(chain)
        if kept is None or kept[0] != number:
            kept = self._shared[chain] = number, received(shared)
        return kept[1]


# what travels


@dataclass(frozen=True)
class FilePart:
    """An array as its place in a file that all machines see, or can fetch (``url``)."""

    path: str
    url: str | None
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def open(self) -> NDArray[Any]:
        """Map the array."""
        if self.url is not None:
            local_folder(self.url)
        return np.memmap(self.path, self.dtype, "c", self.offset, self.shape)


def portable(value: Any) -> Any:
    """Return a copy of a record in which arrays mapped from files are their places in them."""
    if isinstance(value, np.ndarray):
        whole = value
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        if not isinstance(whole, np.memmap) or not value.flags.c_contiguous or not value.size:
            return value
        start = value.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        path = str(whole.filename)
        return FilePart(path, url_of(path), whole.offset + start, value.dtype.str, value.shape)
    return _changed(value, portable)


def received(value: Any) -> Any:
    """Return a record with arrays that can be written to, undoing :func:`portable`."""
    if isinstance(value, FilePart):
        return value.open()
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    return _changed(value, received)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a change to what dictionaries and dataclasses hold."""
    if isinstance(value, dict):
        return {name: change(item) for name, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    result = copy.copy(value)
    for part in fields(value):
        object.__setattr__(result, part.name, change(getattr(value, part.name)))
    return result


def _packed(statistics: Arrays) -> dict[str, Any]:
    """Return statistics with arrays of counts as those cells that are in use, where few are."""
    packed: dict[str, Any] = {}
    for name, array in statistics.items():
        packed[name] = {"": array}
        if array.dtype.kind in "iu" and array.size > _SMALL:
            cells = np.flatnonzero(array)
            if len(cells) < _SPARSE * array.size:
                cells = cells.astype(np.uint32 if array.size < 2**32 else np.int64)
                values = array.reshape(-1)[cells]
                shape = np.array(array.shape)
                packed[name] = {"cells": cells, "values": values, "shape": shape}
    return packed


def _unpacked(packed: dict[str, Any]) -> Arrays:
    """Undo :func:`_packed`; the arrays can be written to."""
    result: Arrays = {}
    for name, parts in packed.items():
        if "" in parts:
            result[name] = np.array(parts[""])
        else:
            array = np.zeros(tuple(parts["shape"]), parts["values"].dtype)
            array.reshape(-1)[parts["cells"]] = parts["values"]
            result[name] = array
    return result


def _bytes(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


# Ray


def _ray() -> Any:
    """Import Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray is not installed: pip install 'palaver[ray]'") from error
    return ray


def _connect(ray: Any, workers: int, address: str | None) -> None:
    """Join a cluster, or start one on this machine."""
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            cores = max(workers, os.cpu_count() or 1)
            ray.init(num_cpus=cores, include_dashboard=False, **quiet)
    except ConnectionError as error:
        raise WorkersError(
            f"no Ray cluster at address {address!r} ({error}); start one with `ray start --head`, "
            "or leave the address out"
        ) from error


def _faults(ray: Any) -> tuple[type[Exception], ...]:
    """Return the errors that say that an actor, its process or its machine is gone."""
    known = ray.exceptions
    return (
        known.RayActorError, known.ObjectLostError, known.NodeDiedError, known.WorkerCrashedError,
    )  # fmt: skip

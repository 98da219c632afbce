"""Sweeps on the machines of a Ray cluster (extra ``ray``): ``RayExecutor(workers=8)``.

An actor holds some (chain, shard) places with their shards and states. Each round, the driver
puts the globals of each chain into the object store once, and the actors sweep their places. The
actors add up exact statistics (whole numbers) among themselves, pairwise in a tree, and the driver
fetches the root; all other statistics come back in order. So the results have the same bytes as on
threads of one process, and the driver's work does not grow with the cluster.

Losing an actor, a worker process or a machine loses no work. The driver keeps a *ledger*: the
states after some round, and the globals and keys of all rounds since. Lost states are restored on
another actor and swept again through the rounds of the ledger, while the surviving actors
continue from where they are. The ledger is renewed before its globals outgrow the states, or
when a checkpoint gathers the states anyway.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from palaver.errors import PalaverError, ParameterError, WorkersError
from palaver.parallel.cluster import Watch, connect, faults, import_ray
from palaver.parallel.executor import Arrays, Engine, Globals, Shards, States
from palaver.parallel.ledger import Broadcast, Keys, Ledger, Traffic
from palaver.parallel.wire import array_bytes, in_files, packed, portable, unpacked
from palaver.parallel.worker import Place, Total, Worker, done_there

#: Most rounds before the ledger is renewed; bounds the work of a recovery.
LONGEST_LEDGER = 50
#: Seconds to wait for an actor before its places are given to the surviving ones.
PATIENCE = 60.0
#: Number of actors lost without completing a round after which the fit gives up.
MOST_TROUBLES = 10

Ask = Callable[[Place], Any]


class RayExecutor:
    """An executor that runs on the actors of a Ray cluster.

    Parameters
    ----------
    workers : int
        Number of actors; each uses one core.
    address : str, optional
        Address of a running cluster; "auto" finds it. By default, one is started on this machine.
    folder : path, optional
        Folder that all machines can reach. Data that are not in files (vectors, documents,
        labelled sentences) are stored there during a fit, for the actors to read. Without a
        folder, they are sent to each actor once.

    Notes
    -----
    Shards of a corpus opened from a folder (``Encoded.open``) are read from there by the actors:
    all machines must be able to reach that folder or URL.
    """

    def __init__(
        self, workers: int = 2, address: str | None = None, folder: str | Path | None = None
    ) -> None:
        if workers < 1:
            raise ParameterError(f"workers must be at least 1, got {workers}")
        self.workers, self.address = workers, address
        self.folder = None if folder is None else Path(folder).absolute()
        self._n_fits = 0
        self._files: Path | None = None
        self.traffic = Traffic()
        self._started_ray = False
        self._watch: Watch | None = None
        self._actors: dict[int, Any] = {}
        self._homes: dict[Place, int] = {}
        self._ledger = Ledger()
        self._n_broadcasts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def begin(self, engine: Engine, shards: Shards) -> None:
        """Accept the engine and the data, and start the actors; living ones are kept."""
        ray = self._join()
        self._remove_files()
        if self.folder is not None:  # never overwrite what an actor may still map
            self._n_fits += 1
            self._files = self.folder / f"fit-{self._n_fits}"
        self._shards, self._merge = shards, engine.merge
        self._engine = ray.put(engine)
        self._sent: dict[int, Any] = {}
        self._homes, self._ledger, self._troubles = {}, Ledger(), 0
        for number in range(self.workers):
            actor = self._actors.get(number)
            if actor is None:
                self._actors[number] = self._start(self._engine)
            else:  # if it has died since, the first request to it will fail
                actor.begin.remote(self._engine)

    def _join(self) -> Any:
        """Join the cluster, or start one; return the library."""
        self._ray = import_ray()
        if not self._ray.is_initialized():
            self._watch = connect(self._ray, self.workers, self.address)
            self._started_ray = True
        return self._ray

    def spread(self, work: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Do short work on all machines, apart from a fit; yield the results in order.

        Parameters
        ----------
        work : callable
            A function of a module, which Ray repeats where a machine is lost.
        tasks : iterable of tuple
            Its arguments, as shards are sent.
        """
        remote = self._join().remote(num_cpus=0, scheduling_strategy="SPREAD")(done_there)
        waiting: deque[Any] = deque()
        for task in tasks:
            waiting.append(remote.remote(work, *map(portable, task)))
            if len(waiting) > self.workers:
                yield self._get(waiting.popleft())
        while waiting:
            yield self._get(waiting.popleft())

    def _get(self, reference: Any) -> Any:
        """Return an answer; what Palaver has to say about a problem there is said here."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PalaverError):
                raise error.cause from None
            raise

    def open(self, shared: Mapping[int, Globals], keys: Keys) -> None:
        """Create the states of all shards of the given chains."""
        self._settle(list(shared))
        self._ledger = Ledger(opening=self._broadcast(shared, keys))
        self._state_bytes = sum(size for _, size in self._ask(self._reopen, replayed=0))

    def restore(self, states: States) -> None:
        """Restore the states of a checkpoint."""
        self._settle(sorted({chain for chain, _ in states}))
        self._ledger = Ledger(states={place: dict(state) for place, state in states.items()})
        self._state_bytes = sum(size for _, size in self._ask(self._reopen, replayed=0))

    def round(self, shared: Mapping[int, Globals], keys: Keys) -> dict[int, Arrays]:
        """Sweep all shards of the given chains; return the merged statistics of each."""
        ledger, broadcast = self._ledger, self._broadcast(shared, keys)
        ledger.rounds.append(broadcast)
        ledger.size += broadcast.size
        self.traffic = Traffic(sent=broadcast.size)

        def sweep(place: Place) -> Any:
            return self._sweep(place, broadcast, wanted=True)

        before = len(ledger.rounds) - 1
        merged: dict[int, Arrays] = {}
        names: dict[int, list[str]] = {}
        for (chain, _), swept in self._ask(sweep, replayed=before, again=sweep):
            if len(swept.names) > len(swept.packed):  # the others are in the actors' sums
                names[chain] = swept.names
            self.traffic.received += swept.size
            self.traffic.sweeping += swept.seconds
            found = unpacked(swept.packed)
            merged[chain] = self._merge(merged[chain], found) if chain in merged else found
        if names:
            for chain, parts in self._total(broadcast, again=sweep).packed.items():
                found = merged[chain] | unpacked(parts)
                merged[chain] = {name: found[name] for name in names[chain]}
        self._troubles = 0
        if len(ledger.rounds) >= LONGEST_LEDGER or ledger.size > self._state_bytes:
            self._renew()
        return merged

    def states(self) -> States:
        """Return the states, keyed by (chain, shard)."""
        if self._ledger.rounds or self._ledger.states is None:
            self._renew()
        return self._ledger.states or {}

    def end(self) -> None:
        """End a fit; states remain readable until the next one or until :meth:`close`."""

    def close(self) -> None:
        """Stop the actors, and the cluster if it was started here; remove temporary files."""
        self._remove_files()
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        for actor in self._actors.values():
            if self._ray.is_initialized():
                self._ray.kill(actor)
        self._actors = {}
        if self._started_ray:
            self._ray.shutdown()
            self._started_ray = False

    # requests to actors

    def _ask(
        self, ask: Ask, *, replayed: int, again: Ask | None = None
    ) -> Iterator[tuple[Place, Any]]:
        """Ask about every place, a few places ahead of the one waited for; yield in order.

        Parameters
        ----------
        ask : callable
            Maps a place to the reference of an answer.
        replayed : int
            Number of rounds of the ledger that a lost place must repeat before it is asked.
        again : callable, optional
            Also called for lost places that had already answered: whatever else changes states.
        """
        places = list(self._homes)
        asked: dict[Place, Any] = {}
        for i, place in enumerate(places):
            while True:
                for ahead in places[i : i + 2 * self.workers + 1]:
                    if ahead not in asked:
                        asked[ahead] = ask(ahead)
                try:
                    answer = self._get(asked.pop(place))
                    break
                except faults(self._ray) as fault:
                    for lost in self._recover(place, replayed, fault):
                        asked.pop(lost, None)
                        if again is not None and lost in places[:i]:
                            again(lost)
            yield place, answer

    def _reopen(self, place: Place) -> Any:
        """Reset a place to where the ledger begins; the answer is the size of its state."""
        chain, number = place
        actor, shard, ledger = self._actors[self._homes[place]], self._shard(number), self._ledger
        if ledger.states is not None:
            return actor.restore.remote(place, shard, ledger.states[place])
        opening = ledger.opening
        if opening is None:
            raise RuntimeError("no state was created")
        return actor.open.remote(
            place, shard, opening.references[chain], opening.number, opening.keys[chain]
        )

    def _sweep(self, place: Place, broadcast: Broadcast, *, wanted: bool) -> Any:
        """Sweep a place; the answer is a :class:`Swept`."""
        actor = self._actors[self._homes[place]]
        chain = place[0]
        return actor.sweep.remote(
            place, broadcast.references[chain], broadcast.number, broadcast.keys[chain], wanted
        )

    def _total(self, broadcast: Broadcast, *, again: Ask) -> Total:
        """Return the sums of a round over all actors, which add them up among themselves.

        An actor holds the sums of its own places. So if one was lost, its places are swept again
        elsewhere, and all actors are asked once more.
        """

        def ask(numbers: list[int]) -> Any:
            others = []
            while len(numbers) > 1:
                half = len(numbers) // 2
                others.append(ask(numbers[-half:]))
                numbers = numbers[:-half]
            return self._actors[numbers[0]].total.remote(broadcast.number, *others)

        while True:
            try:
                total: Total = self._ray.get(ask(sorted(set(self._homes.values()))))
                break
            except faults(self._ray) as fault:
                self._recover_silent(fault, again)
        self.traffic.received += total.size
        self.traffic.passed = total.passed
        return total

    def _recover_silent(self, fault: Exception, again: Ask) -> None:
        """Recover the places of all actors that do not answer, and sweep them again."""
        before = self._troubles
        for number in sorted(set(self._homes.values())):
            try:
                self._ray.get(self._actors[number].ready.remote())
            except faults(self._ray) as found:
                place = next(p for p, home in self._homes.items() if home == number)
                for lost in self._recover(place, len(self._ledger.rounds) - 1, found):
                    again(lost)
        if self._troubles == before:  # all are alive by now, yet something was lost
            self._count_trouble(fault)

    def _renew(self) -> None:
        """Restart the ledger from the current states."""

        def state(place: Place) -> Any:
            return self._actors[self._homes[place]].state.remote(place)

        states = dict(self._ask(state, replayed=len(self._ledger.rounds)))
        self._ledger = Ledger(states=states)
        self._state_bytes = sum(array_bytes(state) for state in states.values())

    # places and faults

    def _settle(self, chains: list[int]) -> None:
        """Assign an actor to every (chain, shard), in turn."""
        places = [(chain, shard) for chain in chains for shard in range(len(self._shards))]
        numbers = sorted(self._actors)
        self._homes = {place: numbers[i % len(numbers)] for i, place in enumerate(places)}

    def _broadcast(self, shared: Mapping[int, Globals], keys: Keys) -> Broadcast:
        """Put the globals of each chain into the object store, once for all actors."""
        self._n_broadcasts += 1
        least = {chain: _least(values) for chain, values in shared.items()}
        return Broadcast(
            self._n_broadcasts,
            {chain: self._ray.put(values) for chain, values in least.items()},
            dict(keys),
            sum(array_bytes(values.sent or values.arrays) for values in least.values()),
        )

    def _shard(self, number: int) -> Any:
        """Return a reference to a shard, stored once; arrays mapped from files go as file parts."""
        if number not in self._sent:
            shard = self._shards[number]
            if self._files is not None:
                shard = in_files(shard, self._files / str(number))
            self._sent[number] = self._ray.put(portable(shard))
        return self._sent[number]

    def _remove_files(self) -> None:
        """Remove the data of the last fit, and the folder if it is then empty."""
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)
            with suppress(OSError):
                self._files.parent.rmdir()
            self._files = None

    def _start(self, engine: Any) -> Any:
        """Start an actor without waiting for it."""
        actor = self._ray.remote(Worker).options(num_cpus=1, max_restarts=0).remote()
        actor.begin.remote(engine)
        return actor

    def _recover(self, place: Place, replayed: int, fault: Exception) -> list[Place]:
        """Replace the actor of a place that did not answer; return all places that it held.

        Problems with the new actor show up when its places are next asked.
        """
        self._count_trouble(fault)
        number = self._homes[place]
        lost = [p for p, home in self._homes.items() if home == number]
        self._replace(number, lost)
        for p in lost:
            self._reopen(p)
        for broadcast in self._ledger.rounds[:replayed]:
            for p in lost:
                self._sweep(p, broadcast, wanted=False)
        return lost

    def _count_trouble(self, fault: Exception) -> None:
        """Give up on a cluster that keeps losing its workers."""
        self._troubles += 1
        if self._troubles > MOST_TROUBLES:
            raise _given_up(
                f"workers were lost {MOST_TROUBLES} times without completing a round", fault
            ) from fault

    def _replace(self, number: int, lost: list[Place]) -> None:
        """Start another actor or, if there is no room for it, distribute its places."""
        self._ray.kill(self._actors.pop(number))
        actor = self._start(self._engine)
        try:
            self._ray.get(actor.ready.remote(), timeout=PATIENCE if self._actors else None)
            self._actors[number] = actor
        except (self._ray.exceptions.GetTimeoutError, *faults(self._ray)) as fault:
            self._ray.kill(actor)
            others = sorted(self._actors)
            if not others:
                raise _given_up("the last worker and its replacement were lost", fault) from fault
            for i, place in enumerate(lost):
                self._homes[place] = others[i % len(others)]


def _least(shared: Globals) -> Globals:
    """Return globals as they are sent: without arrays if they follow from less."""
    if shared.sent is None:
        return shared
    return replace(shared, arrays={}, sent=packed(shared.sent))


def _given_up(what: str, fault: Exception) -> WorkersError:
    """Return the error of a cluster that cannot continue."""
    reason = str(fault).partition("\n")[0]
    return WorkersError(
        f"{what} ({reason}); check the cluster (memory, disk), then continue with --resume"
    )

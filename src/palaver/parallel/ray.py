"""Sweeps on the machines of a Ray cluster (extra ``ray``): ``RayExecutor(workers=8)``.

An actor holds some (chain, shard) places with their shards and states. Every round the driver
puts the globals of each chain into the object store once and actors sweep their places. Statistics
that are exact, whole numbers, are added up by the actors, pair by pair in a tree, and the driver
takes its root; the others come back in order. So there are the same bytes as on threads of one
process, and the driver's work does not grow with the cluster's.

Nothing is lost with an actor, a worker process or a machine. The driver has a *ledger*: the
states of some round boundary, and the globals and keys of the rounds since. States that were lost
are put back on another actor and swept again through the rounds of the ledger; the actors that
live go on from where they are. The ledger is renewed before its globals outgrow the states, or
when a checkpoint gathers the states anyway.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from palaver.errors import ParameterError, WorkersError
from palaver.parallel.cluster import connect, faults, import_ray
from palaver.parallel.executor import Arrays, Engine, Globals, Shards, States
from palaver.parallel.ledger import Broadcast, Keys, Ledger, Traffic
from palaver.parallel.wire import array_bytes, in_files, portable, unpacked
from palaver.parallel.worker import Place, Total, Worker

#: Rounds after which the ledger is renewed at the latest: bounds the work of a recovery.
LONGEST_LEDGER = 50
#: Seconds to wait for an actor before its places are given to those that live.
PATIENCE = 60.0
#: Actors lost without a round done in between, after which the cluster is given up.
MOST_TROUBLES = 10

Ask = Callable[[Place], Any]


class RayExecutor:
    """An executor on the actors of a Ray cluster.

    Parameters
    ----------
    workers : int
        Actors, each on one core.
    address : str, optional
        Of a cluster that runs; "auto" finds it. Without, one is started on this machine.
    folder : path, optional
        That all machines see: data that lie in no file (vectors, documents, labelled sentences)
        are put there during a fit, and read by the actors. Without, they are sent once.

    Notes
    -----
    Shards of a corpus that was opened from a folder (``Encoded.open``) are read there by the
    actors: the folder, or the URL, must be seen from all machines.
    """

    def __init__(
        self, workers: int = 2, address: str | None = None, folder: str | Path | None = None
    ) -> None:
        if workers < 1:
            raise ParameterError(f"workers: at least 1 is needed, got {workers}")
        self.workers, self.address = workers, address
        self.folder = None if folder is None else Path(folder).absolute()
        self._n_fits = 0
        self._files: Path | None = None
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
        self._ray = ray = import_ray()
        if not ray.is_initialized():
            connect(ray, self.workers, self.address)
            self._started_ray = True
        self._remove_files()
        if self.folder is not None:  # never over what an actor may still map
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
        """Return the states by (chain, shard)."""
        if self._ledger.rounds or self._ledger.states is None:
            self._renew()
        return self._ledger.states or {}

    def end(self) -> None:
        """End a fit; states stay readable until the next one or :meth:`close`."""

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; remove what was put in files."""
        self._remove_files()
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
                except faults(self._ray) as fault:
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
        """Sweep a place; the answer is a :class:`Swept`."""
        actor = self._actors[self._homes[place]]
        chain = place[0]
        return actor.sweep.remote(
            place, broadcast.references[chain], broadcast.number, broadcast.keys[chain], wanted
        )

    def _total(self, broadcast: Broadcast, *, again: Ask) -> Total:
        """Return the sums of a round over all actors, which add them up among themselves.

        An actor has the sums of the places that are at home with it. So where one was lost, its
        places are swept again elsewhere, and all are asked once more.
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
        """Recover the places of all actors that do not answer, and sweep them once more."""
        before = self._troubles
        for number in sorted(set(self._homes.values())):
            try:
                self._ray.get(self._actors[number].ready.remote())
            except faults(self._ray) as found:
                place = next(p for p, home in self._homes.items() if home == number)
                for lost in self._recover(place, len(self._ledger.rounds) - 1, found):
                    again(lost)
        if self._troubles == before:  # all are alive by now, but something was lost
            self._count_trouble(fault)

    def _renew(self) -> None:
        """Begin the ledger anew with the states of now."""

        def state(place: Place) -> Any:
            return self._actors[self._homes[place]].state.remote(place)

        states = dict(self._ask(state, replayed=len(self._ledger.rounds)))
        self._ledger = Ledger(states=states)
        self._state_bytes = sum(array_bytes(state) for state in states.values())

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
            sum(array_bytes(values.arrays) for values in shared.values()),
        )

    def _shard(self, number: int) -> Any:
        """Return a reference to a shard, put once; arrays mapped from files go as their place."""
        if number not in self._sent:
            shard = self._shards[number]
            if self._files is not None:
                shard = in_files(shard, self._files / str(number))
            self._sent[number] = self._ray.put(portable(shard))
        return self._sent[number]

    def _remove_files(self) -> None:
        """Remove the data of the last fit, and the folder if nothing else is in it."""
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)
            with suppress(OSError):
                self._files.parent.rmdir()
            self._files = None

    def _start(self, engine: Any) -> Any:
        """Start an actor; this does not wait for it."""
        actor = self._ray.remote(Worker).options(num_cpus=1, max_restarts=0).remote()
        actor.begin.remote(engine)
        return actor

    def _recover(self, place: Place, replayed: int, fault: Exception) -> list[Place]:
        """Replace the actor of a place that did not answer; return all places that it had.

        What goes wrong with the new one shows when its places are asked next.
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
        """Give up a cluster that loses its workers again and again."""
        self._troubles += 1
        if self._troubles > MOST_TROUBLES:
            raise _given_up(
                f"workers were lost {MOST_TROUBLES} times without a round done", fault
            ) from fault

    def _replace(self, number: int, lost: list[Place]) -> None:
        """Start another actor, or, where there is no room for it, share its places out."""
        self._ray.kill(self._actors.pop(number))
        actor = self._start(self._engine)
        try:
            self._ray.get(actor.ready.remote(), timeout=PATIENCE if self._actors else None)
            self._actors[number] = actor
        except (self._ray.exceptions.GetTimeoutError, *faults(self._ray)) as fault:
            self._ray.kill(actor)
            others = sorted(self._actors)
            if not others:
                raise _given_up("the last worker was lost, and so was another", fault) from fault
            for i, place in enumerate(lost):
                self._homes[place] = others[i % len(others)]


def _given_up(what: str, fault: Exception) -> WorkersError:
    """Return the error of a cluster that cannot go on."""
    reason = str(fault).partition("\n")[0]
    return WorkersError(
        f"{what} ({reason}); look at the cluster (memory, disk), then go on with --resume"
    )

# SPDX-License-Identifier: Apache-2.0
"""A rank, or a process that reads for one, is killed at a random moment of a load without a copy (shardscope.deepspeed).

    SHARDSCOPE_KILLS=200       so many kills, over all moves; those that come too late are not counted
    SHARDSCOPE_KILL_SEED=N     the same choices again as in the run that printed this seed
"""

import collections
import hashlib
import os
import random
import signal
import time
from dataclasses import dataclass

from cases import parallel
from cases.examples import python_package
from compare import checks
from runs import live, ranks, victims
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup

TIMEOUT = 10  # of the process group, in seconds
MARGIN = 5
POLL_SECONDS = 0.0005
TRIES = 20  # for each kill, because one may come too late
KINDS = 10 * [signal.SIGKILL]
KINDS[4], KINDS[9] = signal.SIGINT, signal.SIGSTOP  # interrupted but alive, as in a notebook; as if the network were gone
WORDS = {signal.SIGKILL: "killed", signal.SIGINT: "interrupted", signal.SIGSTOP: "stopped"}

TOO_LATE = "too late"

Move = collections.namedtuple("Move", "setup before engine after")


def _content(folder):
    return {path.relative_to(folder): (path.stat().st_size, path.stat().st_mtime_ns,
                                       hashlib.sha256(path.read_bytes()).hexdigest())
            for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass
class Hit:
    """Where a kill landed."""
    what: str = ""  # empty: it came too late
    victim: int = -1  # the rank that was killed
    is_dead: bool = True


def _readers_of_one_load(pool):
    """The readers of a load that nothing disturbs, with the seconds that each lived, in the order of their beginning."""
    seen = {}
    pool.begin()
    began = time.monotonic()
    while any(phase < victims.ENDED for phase in pool.phases):
        now = time.monotonic()
        for pid in victims.children_of(pool.pids):
            seen.setdefault(pid, [now, now])[1] = now
        time.sleep(POLL_SECONDS)
    return [max(0.001, last - first) for first, last in seen.values()], time.monotonic() - began


def _kill_reader(pool, position, share, lives):
    """Kills the reader that begins at this position in a load, after this share of its life, or one that follows."""
    seen = set()
    while any(phase < victims.ENDED for phase in pool.phases):
        for pid in victims.children_of(pool.pids):
            if pid in seen:
                continue
            seen.add(pid)
            if len(seen) <= position:
                continue
            time.sleep(share * lives[min(len(seen), len(lives)) - 1])
            what = victims.command_of(pid)
            if what and victims.is_alive(pid):
                os.kill(pid, signal.SIGKILL)
                return Hit(f"reader: {what}")
        time.sleep(POLL_SECONDS)
    return Hit()


def _where(pool):
    """What goes on at this moment, seen from outside."""
    if any(phase in (victims.DEEPSPEED_LOADS, victims.DEEPSPEED_HAS_LOADED) for phase in pool.phases):
        return "DeepSpeed loads"
    commands = {victims.command_of(pid) for pid in victims.children_of(pool.pids)} - {""}
    return "+".join(sorted(commands)) or "between readers"


def _kill_rank(pool, rank, after_seconds, number):
    time.sleep(after_seconds)
    if all(phase == victims.ENDED for phase in pool.phases):
        return Hit()
    where = _where(pool)
    pool.kill(rank, number)
    return Hit(f"rank {WORDS[number]}: {where}", rank, is_dead=number != signal.SIGINT)


def _check_rank(rank, outcome, hit):
    """What must be true of one rank that was not killed."""
    def fail(why):
        raise checks.Failure(f"{hit.what}: rank {rank}: {why}: {outcome}")
    if outcome is None:
        fail("ended")
    if not outcome.same_checkpoint_engine:
        fail("another checkpoint engine than before")
    if outcome.left:
        fail(f"{outcome.left} are left")
    if not outcome.error and outcome.wrong:
        fail("the state is not the checkpoint's")
    if outcome.error and hit.victim < 0 and outcome.begun:
        fail("a reader was needed after DeepSpeed had begun to load")
    if outcome.error and not outcome.begun and outcome.changed:
        fail("the engine was changed")
    if outcome.error and hit.victim < 0 and outcome.error[0] != "ShardscopeError":
        fail("another error")


def _no_readers(pids, hit):
    """Those of a killed rank end soon. The seconds that it took."""
    began = time.monotonic()
    while left := victims.readers_for(pids):
        if time.monotonic() - began > MARGIN:
            raise checks.Failure(f"{hit.what}: {len(left)} readers are left: {[victims.command_of(pid) for pid in left]}")
        time.sleep(0.01)
    return time.monotonic() - began


class _Tally:

    def __init__(self):
        self.places, self.outcomes = collections.Counter(), collections.Counter()
        self.longest, self.orphaned = collections.Counter(), 0.0

    @property
    def landed(self):
        return sum(self.places.values()) - self.places[TOO_LATE]

    def add(self, hit, outcomes, orphaned):
        self.places[hit.what or TOO_LATE] += 1
        self.orphaned = max(self.orphaned, orphaned)
        kind = hit.what.split(":")[0]
        raised = [outcome for outcome in outcomes if outcome.error]
        self.longest[kind] = max([self.longest[kind], *(round(outcome.seconds, 1) for outcome in outcomes)])
        if not hit.what:
            return
        if not raised:
            self.outcomes["loaded on every rank that was left"] += 1
        elif not any(outcome.begun for outcome in raised):
            self.outcomes["raised, no engine changed"] += 1
        else:
            self.outcomes["raised while or after DeepSpeed loaded"] += 1

    def __str__(self):
        return "; ".join([
            f"landed {dict(sorted(self.places.items()))}", f"outcomes {dict(self.outcomes)}",
            f"longest load in seconds {dict(self.longest)}, longest life of an orphaned reader {self.orphaned:.2f} s"])


@dataclass(frozen=True)
class Killed:
    """Every rank that is left ends within the timeout of the group. After a killed reader all raise the same error and
    no engine is changed. Nothing is left, and the source is untouched."""
    moves: tuple

    @property
    def name(self):
        return "live killed"

    def run(self, context):
        kills = int(os.environ.get("SHARDSCOPE_KILLS", 2 * len(self.moves)))
        seed = int(os.environ.get("SHARDSCOPE_KILL_SEED", random.randrange(10**9)))
        chance, tally = random.Random(seed), _Tally()
        live.prepare(python_package(context), context.tool.program)
        try:
            for number, move in enumerate(self.moves):
                share = kills // len(self.moves) + (number < kills % len(self.moves))
                self._hit_readers(context, move, (share + 1) // 2, chance, tally)
                self._hit_ranks(context, move, share // 2, chance, tally)
        except (checks.Failure, ranks.RankFailure) as error:
            raise checks.Failure(f"seed {seed}: after {tally}: {error}") from error
        if tally.landed != kills:
            raise checks.Failure(f"seed {seed}: only {tally.landed} of {kills} kills landed: {tally}")
        return f"{kills} kills, seed {seed}: {tally}"

    def _pool(self, context, move):
        source = self._source(context, move)
        folder = context.target(f"temporary {move.engine.name}")
        folder.mkdir(parents=True)
        return victims.Pool(move.engine, move.after, source, folder, context.sources.log, TIMEOUT)

    @staticmethod
    def _source(context, move):
        if isinstance(move.setup, Setup):
            return context.sources.get(move.setup, move.before).folder
        return parallel.source_of(context, move.setup, move.before).folder

    def _hit_readers(self, context, move, count, chance, tally):
        """All by one set of ranks."""
        source = self._source(context, move)
        content, pool = _content(source), self._pool(context, move)
        wanted = tally.landed + count
        try:
            lives, _ = self._undisturbed(pool)
            for _ in range(TRIES * count):
                if tally.landed == wanted:
                    break
                position, share = chance.randrange(len(lives)), chance.random()
                pool.begin()
                hit = _kill_reader(pool, position, share, lives)
                outcomes = self._ended(pool, hit, tally, source, content)
                if len({outcome.error for outcome in outcomes}) != 1:
                    raise checks.Failure(f"{hit.what}: the ranks raised different errors: {outcomes}")
                if not hit.what:
                    lives = [life / 2 for life in lives]  # measured while the machine was busier
                if outcomes[0].error:
                    pool.again()
                else:
                    pool.step()
        finally:
            pool.close()

    def _hit_ranks(self, context, move, count, chance, tally):
        """Each by a set of its own, unless the kill comes too late."""
        source = self._source(context, move)
        content = _content(source)
        for number in range(count):
            pool, wanted = self._pool(context, move), tally.landed + 1
            try:
                _, seconds = self._undisturbed(pool)
                for _ in range(TRIES):
                    rank, after = chance.randrange(move.after), chance.uniform(0, seconds)
                    pool.begin()
                    hit = _kill_rank(pool, rank, after, KINDS[number % len(KINDS)])
                    outcomes = self._ended(pool, hit, tally, source, content)
                    if tally.landed == wanted:
                        break
                    seconds = min(seconds, max(outcome.seconds for outcome in outcomes))
                    pool.step()
            finally:
                pool.close()

    @staticmethod
    def _undisturbed(pool):
        for _ in range(2):  # the first load takes longer
            measured = _readers_of_one_load(pool)
            for rank in range(len(pool.pids)):
                _check_rank(rank, outcome := pool.receive(rank, time.monotonic() + MARGIN), Hit())
                if outcome.error or not outcome.changed:
                    raise checks.Failure(f"without a kill: {outcome}")
            pool.step()
        return measured

    @staticmethod
    def _ended(pool, hit, tally, source, content):
        """The outcomes of the ranks that were not killed, once they are checked."""
        deadline = time.monotonic() + TIMEOUT + MARGIN
        alive = [rank for rank in range(len(pool.pids)) if rank != hit.victim or not hit.is_dead]
        outcomes = [pool.receive(rank, deadline) for rank in alive]
        for rank, outcome in zip(alive, outcomes):
            _check_rank(rank, outcome, hit)
        if hit.victim >= 0:
            pool.kill(hit.victim)
        orphaned = _no_readers(pool.pids, hit)
        if _content(source) != content:
            raise checks.Failure(f"{hit.what}: the source was changed")
        tally.add(hit, outcomes, orphaned)
        return outcomes


WIDE = (("width", 128), ("layers", 4), ("vocabulary", 256))  # so that reading takes some time
ZERO2, ZERO3 = Setup(2, "bf16", shape=WIDE), Setup(3, "bf16", sub_group_size=200000, shape=WIDE)
MOVES = (Move(ZERO2, 2, ZERO2, 3), Move(ZERO3, 2, ZERO3, 3), Move(ZERO2, 3, ZERO3, 2),
         Move(ParallelSetup("experts", 2, "bf16"), 4, ParallelSetup("experts", 2, "bf16"), 2))


def run():
    return [Killed(MOVES)]

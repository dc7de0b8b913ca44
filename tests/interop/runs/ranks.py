# SPDX-License-Identifier: Apache-2.0
"""Runs one function on several ranks: forked from this process, so that torch and DeepSpeed are imported once."""

import multiprocessing
import os
import pickle
import socket
import time
import traceback
from multiprocessing.connection import wait

from runs import live


class RankFailure(RuntimeError):
    """A rank raised, died or did not end in time."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _enter(function, rank, world, port, arguments, pipe, log_path):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        import deepspeed
        deepspeed.init_distributed(dist_backend="gloo")
        live.redirect()
        answer = ("done", function(rank, world, *arguments))
    except BaseException:
        answer = ("failed", traceback.format_exc())
    try:
        # Not pipe.send: with torch it would share memory with a process that is about to end.
        pipe.send_bytes(pickle.dumps(answer))
    finally:
        pipe.close()
        # Neither atexit handlers nor gloo's destructors: a peer that has already ended would make them wait.
        os._exit(0)


def run_ranks(world, function, *arguments, log_path=os.devnull, limit_seconds=300):
    """Calls function(rank, world, *arguments) on every rank and returns the results by rank.

    One failed rank leaves its peers waiting in gloo forever, so the first failure, or the end of the time
    limit, ends them all.
    """
    context = multiprocessing.get_context("fork")
    port = free_port()
    processes, pipes = [], []
    for rank in range(world):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_enter, args=(function, rank, world, port, arguments, sender, log_path))
        process.start()
        sender.close()
        processes.append(process)
        pipes.append(receiver)
    try:
        return _collect(pipes, time.monotonic() + limit_seconds, limit_seconds)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
            process.join()


def _collect(pipes, deadline, limit_seconds):
    results = [None] * len(pipes)
    waiting = dict(zip(pipes, range(len(pipes))))
    while waiting:
        ready = wait(list(waiting), timeout=max(0.0, deadline - time.monotonic()))
        if not ready:
            raise RankFailure(f"ranks {sorted(waiting.values())} did not end within {limit_seconds} s")
        for pipe in ready:
            rank = waiting.pop(pipe)
            try:
                outcome, value = pickle.loads(pipe.recv_bytes())
            except EOFError:
                raise RankFailure(f"rank {rank} died without an answer") from None
            if outcome == "failed":
                raise RankFailure(f"rank {rank} raised:\n{value}")
            results[rank] = value
    return results

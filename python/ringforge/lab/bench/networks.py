# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Networks on the digits, encrypted beside plain: latency, time per image of a batch, and whether classes agree."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import numpy as np

from ringforge import ckks
from ringforge.lab.timing import Timing, both_clocks, median, timed, total
from ringforge.matvec import digits, networks
from ringforge.matvec.compiler import compile_model
from ringforge.matvec.roles import Client, Server
from ringforge.runs import Record

#: Evaluations of one image; the median counts.
_RUNS = 5


def run(name: str, images: int = 200, threads: int = 1) -> Iterator[Record]:
    """A record for one image alone, and one for all of them in batches. Both sides are in this process.

    Args:
        name: "conv" or "deep"; trained first, with bounds measured on the training images.
        images: held-out images, 1 ... 600.
    """
    data = digits.load_digits()
    model = networks.train(name, data)
    x, labels = data.test[:images], data.test_labels[:images]
    plain = model(x)
    first = compile_model(model, samples=data.train).program
    chosen = first.context.params
    widest = max(max(s.rows, s.cols) for s in first.linear_steps)
    secret = ckks.Client(first.context).secret_key()
    for batch in (1, chosen.slots >> (widest - 1).bit_length()):
        compiled = compile_model(model, chosen, samples=data.train, batch=batch)
        client = Client(compiled.program, secret)
        server = Server(model, compiled.program, client.evaluation_keys(threads), threads=threads)
        rows = x[:1] if batch == 1 else x
        runs: list[tuple[Timing, Timing, Timing]] = []
        for _ in range(_RUNS if batch == 1 else 1):
            sent, encrypted = timed(lambda rows=rows, c=client: c.encrypt(rows, threads))  # type: ignore[misc]
            done, (result, report) = timed(lambda s=server, x=encrypted: s.evaluate(x))  # type: ignore[misc]
            read, scores = timed(lambda c=client, y=result: c.decrypt(y, threads=threads))  # type: ignore[misc]
            runs.append((sent, done, read))
        encrypting, evaluating, _ = (median(part) for part in zip(*runs, strict=True))
        # The latency of a person who waits: wall time on any number of threads.
        taken = both_clocks(median(map(total, runs)), clock="wall")
        seconds = taken["seconds"]
        wanted = plain[: len(rows)]
        error = float(np.abs(scores - wanted).max())
        yield Record(
            system="matvec",
            case=f"{name}, {len(rows)} image{'s' if len(rows) > 1 else ''}",
            params=chosen.name,
            algorithm="bsgs",
            level=compiled.program.input_level,
            threads=threads,
            encode_seconds=server.prepare_seconds,
            max_rel_error=error / float(np.abs(wanted).max()),
            peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            extra={
                "seconds_per_image": seconds / len(rows),
                "encrypt_seconds": encrypting.wall,
                "evaluate_seconds": evaluating.wall,
                "encrypt_cpu_seconds": encrypting.cpu,
                "evaluate_cpu_seconds": evaluating.cpu,
                "batch": batch,
                "log_n": chosen.log_n,
                "limbs": len(chosen.q),
                "accuracy_plain": float((plain.argmax(axis=1) == labels).mean()),
                "same_class": int((scores.argmax(axis=1) == wanted.argmax(axis=1)).sum()),
                "images": len(rows),
                "max_error": error,
                "predicted_error": client.error_bound(result),
                "operations": dict(report.operations),
            },
            **taken,
        )

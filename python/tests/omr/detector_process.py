# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A detector whose steps are hashes, as a process: `python -m tests.omr.detector_process FOLDER PORT SECONDS`.

Every step takes so many seconds. It is told of as others are. Events go to standard error. With FILE_BYTES in the
environment no file gets larger; with HOLD, a folder, a step begins when there is a file of its stage's name; BULLETINS
is the quota of a day.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from ringforge.errors import Error
from ringforge.omr.depot import Depot
from ringforge.omr.detector_service import Service
from ringforge.omr.steps import Step
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running, serve
from ringforge.serving.published import Published
from ringforge.serving.quota import Quota

from .detecting import HashWorker

if __name__ == "__main__":
    folder, port, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])

    def slowly(step: Step) -> float:
        while "HOLD" in os.environ and not (Path(os.environ["HOLD"]) / step.stage).exists():
            time.sleep(0.02)
        return seconds if step.stage != "affine" else 0.0

    if "FILE_BYTES" in os.environ:
        most = int(os.environ["FILE_BYTES"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    log = Log(sys.stderr)
    limits = Limits(grace_seconds=5)
    try:
        quota = Quota(folder / "quota.sqlite", {"bulletins": int(os.environ.get("BULLETINS", "100"))})
        depot = Depot(folder / "store")
    except (Error, OSError) as e:  # as the command line does
        sys.exit(f"error: {e}")
    service = Service(HashWorker(pace=slowly), depot, quota, limits, log=log)
    published = Published(service, "omr detect", {"set": "hashes"}, "0", log, beats=True)
    running = Running(service, f"127.0.0.1:{port}")
    published.start(f"127.0.0.1:{running.port}")
    serve(running, limits, log, {"metrics": published.metrics}, published)
    published.close()

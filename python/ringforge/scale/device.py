# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `ray:ADDRESS`: kernels that have shards, on the nodes of a Ray cluster.

`ray:local` starts a node on this machine, which ends with the process; `ray:auto` and `ray:HOST:PORT` join a cluster.
Options follow a question mark, `ray:local?workers=2&threads=4`, or are keywords of `open_device`. Ray is imported when
such a device is opened.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ringforge.devices import register_device
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import ParameterError

if TYPE_CHECKING:
    from ringforge.scale.pool import RayPool

_OPTIONS = ("workers", "threads", "cpus", "store", "patience")


class RayDevice(ShardedDevice):
    """Kernels in the shards of a Ray cluster; :attr:`pool` has the counts of what was done."""

    pool: RayPool

    @property
    def description(self) -> str:
        nodes = len(self.pool.cluster.look())
        return f"Ray cluster of {nodes} nodes, {self.pool.workers} workers of {self.pool.threads} threads"

    _open = True

    def close(self) -> None:
        """Leaves the cluster, once; one that was started here ends with the last device of this process."""
        if self._open:
            self._open = False
            self.pool.close()


def open_ray(which: str = "", **options: Any) -> RayDevice:
    """A device `ray:WHICH`.

    Args:
        which: `local`, `auto` or HOST:PORT, and options behind a question mark.
        options: workers: shards at a time, all that there is room for by default; threads: of each worker, 1 by
            default; patience: seconds, at the least, that a shard may be silent before it is computed elsewhere;
            of `ray:local` also cpus: of the node, and store: bytes of its object store.

    Raises:
        ParameterError: the name or an option is wrong, or this process has joined another cluster.
        Error: Ray is not installed, or there is no such cluster.
    """
    address, _, query = which.partition("?")
    given = {**_options(which, query), **options}
    if not address or "/" in address:  # Ray would import the module that stands before ://
        raise ParameterError(
            f'"ray:{which}" names no cluster: ray:local starts one here, ray:auto finds that of this machine, '
            "ray:HOST:PORT joins that of a head (port 6379 unless it says otherwise)"
        )
    if address != "local" and {"cpus", "store"} & given.keys():
        raise ParameterError("cpus and store are options of ray:local: other nodes have theirs from `ray start`")
    from ringforge.scale.cluster import join
    from ringforge.scale.pool import RayPool

    cluster = join(address, given.pop("cpus", None), given.pop("store", None))
    try:
        return RayDevice(f"ray:{which}", RayPool(cluster, **given))
    except BaseException:
        cluster.leave()
        raise


def _options(which: str, query: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS or not value.isascii() or not value.isdigit() or not 0 < int(value) < 1 << 50:
            raise ParameterError(
                f'"{name}={value}" in ray:{which} is no option: there are {", ".join(_OPTIONS)}, each a whole number'
            )
        if name in found:
            raise ParameterError(f'ray:{which} has the option "{name}" twice: say it once')
        found[name] = int(value)
    return found


def _about() -> str:
    if find_spec("ray") is None:
        return "nodes of a Ray cluster; Ray is not installed: pip install 'ringforge-he[ray]'"
    return "nodes of a Ray cluster, joined when it is opened"


register_device(
    "ray", open_ray, lambda: [], _OPTIONS, addresses=("ray:local", "ray:auto", "ray:HOST:PORT"), about=_about
)

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices of several machines: `ray:local`, `ray:HOST:PORT`, whose kernels run in the tasks of a Ray cluster.

Scheduling, the object store and what is known of nodes are Ray's (the extra `ray`). Here is what lies between: a pool
for the shards of `ringforge.devices.sharding`, and what a worker does with one. docs/scale.md says how to start a
cluster and whom its nodes must trust.
"""

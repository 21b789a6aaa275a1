# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the product is measured, modelled and compared: it stands above all systems, and nothing of them imports it.

- `papers`: the published systems' models, tables and contradictions, a room for each.
- `reproduce`: `ringforge reproduce`, the papers' tables beside ours.
- `bench`: `ringforge bench`, our times beside the peers'.
- `peers`: other libraries doing the same work, each in a process of its own.
- `tables`: tables whose every number names its unit and its source.
"""

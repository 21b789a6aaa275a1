# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi`: private set intersection as commands."""

from __future__ import annotations

import os

import typer

from ringforge.psi.commands import build, demo, estimate, explain, info, query, serve

# gRPC's own words go to standard error, where only ours belong. Read when grpc is imported, which commands do late.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Private set intersection: a client learns which of its elements a server's large set has, and their labels. "
    "The server learns how many elements the client has, and nothing about them.\n\n"
    "The **server** runs `build` once and `serve`; the **client** runs `query`, and `estimate` before, to see what it "
    "takes. Sets are text, CSV, JSON lines or Parquet.\n\n"
    "docs/psi.md is the guide: from a CSV file to a result, who learns what, and what a quota is for.",
)

for command in (build.build, serve.serve, query.query, estimate.estimate, info.info, explain.explain, demo.demo):
    app.command()(command)

#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo.demo, 35)

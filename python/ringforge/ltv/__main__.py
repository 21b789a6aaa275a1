# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Commands of LTV, which is broken: `python -m ringforge.ltv explain | keys | chain`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ringforge.errors import Error, ParameterError
from ringforge.ltv import WARNING, Parameters, explain
from ringforge.ltv.chain import chain
from ringforge.ltv.keys import open_or_make


def _levels(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        found = list(range(int(first), int(last or first) + 1))
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no level (3) or range of levels (3-7)")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ringforge.ltv", description=WARNING)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, about: str, need_set: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=f"{about} {WARNING}.")
        sub.add_argument("--set", required=need_set, help="parameter set: " + ", ".join(Parameters.names()))
        sub.add_argument("--insecure", default="", metavar="REASON", help="why a broken scheme may be used")
        return sub

    command("explain", "Levels, bytes of keys and predicted noise of a set.")
    keys = command("keys", "Makes keys: the secret one in a file, all others in a directory.", need_set=False)
    keys.add_argument("secret", type=Path, help="file of the secret key; made if there is none")
    keys.add_argument("directory", type=Path, help="parameters, public key, a file for each level; must exist")
    keys.add_argument("--levels", type=_levels, help="of evaluation keys, such as 3 or 3-7; all that are missing")
    keys.add_argument("--threads", type=int, default=1)
    run = command("chain", "A product at every level, held against the clear; keys are made on the way.")
    run.add_argument("--levels", type=int, help="how many; all by default")
    run.add_argument("--keys", type=int, default=1, metavar="N", help="with so many keys, one after the other")
    run.add_argument("--threads", type=int, default=1)
    run.add_argument("--seed", type=int, help="makes everything reproducible: the number of the first key")
    return parser


def _run_chain(args: argparse.Namespace, parameters: Parameters) -> bool:
    good = True
    least = float("inf")
    for key in range(args.keys):
        print(f"key {key + 1} of {args.keys}\nlevel   right   predicted budget    measured   largest 2^   bound 2^")
        seed = None if args.seed is None else args.seed + key
        for step in chain(parameters, args.levels, args.threads, seed):
            print(
                f"{step.level:>5}   {'yes' if step.right else 'NO':>5}   {step.predicted:>11.1f} bits   "
                f"{step.measured:>7.1f}   {step.largest:>10.1f}   {step.bound:>8.1f}{'' if step.holds else '   EXCEEDED'}",
                flush=True,
            )
            good = good and step.holds
            last = step
        least = min(least, last.predicted)
    print(f"{'all right, every bound holds' if good else 'WRONG'}; at least {least:.1f} bits predicted at the end")
    return good


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. Returns the exit status: 1 for a wrong result, 2 for a refusal."""
    args = _parser().parse_args(arguments)
    try:
        parameters = Parameters.named(args.set, args.insecure) if args.set else None
        if args.command == "keys":
            print(WARNING, file=sys.stderr)
            keys, client, secret_key, public_key = open_or_make(args.secret, args.directory, parameters, args.threads)
            if parameters is not None and parameters != keys.context.params:
                raise ParameterError(f"the keys there are of {keys.context.params.name}, not of {args.set}")

            def told(level: int, size: int) -> None:
                print(f"level {level:>2}: {size:,} bytes", flush=True)

            written = keys.write(client, secret_key, public_key, args.levels, args.threads, told)
            print(f"{written:,} bytes of evaluation keys written")
            return 0
        assert parameters is not None  # required by the parser
        if args.command == "explain":
            print(explain(parameters))
            return 0
        return 0 if _run_chain(args, parameters) else 1
    except (Error, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line with one more scheme, which encrypts nothing."""

import sys

import tests.aes.clear_scheme
from ringforge.cli import main

assert tests.aes.clear_scheme.SCHEMES["clear"]

if __name__ == "__main__":
    sys.exit(main())

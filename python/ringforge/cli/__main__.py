# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`python -m ringforge.cli`."""

import sys

from ringforge.cli import main

sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random calls as users of numpy, pandas, polars, pyarrow and scikit-learn make them, against the plain library."""

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Writes docs/matvec-estimators.md anew: `python -m tests.matvec.estimators_page`, from python/."""

from __future__ import annotations

from ringforge.matvec import sklearn_table

from .test_sklearn_kinds import BEGIN, END, PAGE

if __name__ == "__main__":
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + sklearn_table.markdown(sklearn_table.table()) + END + rest.split(END)[1])

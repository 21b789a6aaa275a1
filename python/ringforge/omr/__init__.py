# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Oblivious message retrieval: a receiver finds its messages on a public board through a server that learns nothing.

The server, called the detector, learns neither which messages are the receiver's nor how many of them there are.
"""

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Messages of the services, made from the .proto files beside this one by `make proto`."""

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server finds the cheapest of encrypted prices, and the total of a basket, and can read neither."""

from ringforge import gates
from ringforge.gates import integers

PRICES, PIECES = [30, 17, 12, 46], [2, 0, 4, 1]

# The key holder's: the secret key stays, the evaluation key goes to the server.
secret, key = gates.keygen("gates-128", threads=2)
sent = integers.encrypt(secret, PRICES, "uint8").to_bytes()

# The server's.
evaluator = gates.Evaluator(key, threads=2)
prices = integers.from_bytes(sent, evaluator)
cheapest = prices.min()
shop = ((prices == cheapest).astype("uint8") * [0, 1, 2, 3]).sum()
total = prices.dot(PIECES)
reply = [x.to_bytes() for x in (cheapest, shop, total)]

# The key holder's again.
least, place, basket = (integers.decrypt(secret, integers.from_bytes(data, secret)) for data in reply)
print(f"cheapest: {least} at shop {place}")
print(f"total of the basket: {basket}")
print(f"{evaluator.bootstraps} bootstraps")

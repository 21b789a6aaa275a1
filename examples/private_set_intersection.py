# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A client learns which of its addresses a server has, and their labels; the server learns how many it asked about."""

from ringforge import psi

# The server's: a large set in practice. 2^6 bins suit clients that ask about up to 54 elements at once.
directory = {f"user{i}@example.org".encode(): f"+1 555 {i:04d}".encode() for i in range(2000)}
server = psi.Server.build(directory, log_bins=6)

# The client's. Its elements leave it blinded, as points of a curve; the server turns them into pseudorandom values.
mine = [b"user7@example.org", b"user1234@example.org", b"nobody@example.net"]
client = psi.Client(server.info, mine)
client.finish_prf(server.evaluate_prf(client.blinded()))

# The server gets evaluation keys and encrypted places in its table; all places look alike to it.
keys = client.keys()
session = server.open(keys)
sent = len(keys)
while (request := client.next_request()) is not None:
    sent += len(request)
    client.accept(server.answer(session, request))

result = client.result()
for element, label in result.matches.items():
    print(element.decode(), label.decode())
print(f"{result.queries} query, {sent / 2**20:.1f} MiB sent for {len(mine)} of {len(directory)}")
wrong = result.probabilities.false_positive
print(f"probability that a match is none: {wrong:.0e}")

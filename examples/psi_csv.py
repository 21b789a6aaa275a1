# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From two CSV files to the rows that both have: a server's customers, a client's leads, written in different ways.

The command line does the same between two machines: docs/psi.md.
"""

import csv
import tempfile
from pathlib import Path

from ringforge import psi
from ringforge.psi.cells import Wanted
from ringforge.psi.data import matched, read_for

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    customers, leads = folder / "customers.csv", folder / "leads.csv"
    with customers.open("w", newline="") as f:
        rows = csv.writer(f, delimiter=";")
        rows.writerow(["id", "email", "plan"])
        rows.writerows([i, f"User{i}@Example.org", ("basic", "gold")[i % 10 == 7]] for i in range(2000))
    leads.write_text(
        '\ufeffname,E-mail,met at\nAnn, user7@example.org ,"Berlin, 2025"\nBob,nobody@example.net,Rome\nCid,,Oslo\n'
        "Dot,USER1234@EXAMPLE.ORG,Bonn\n"
    )

    # The server's: what is a customer, what others may learn of one, how addresses are written, how many are asked for.
    store = psi.build_table(
        folder / "table", customers, column="email", label_column="plan", normalise="nfc,lower,strip", client_size=100
    )
    server = psi.Server(store)

    # The client's: reads its column as the table's public info says. Over a network `psi.match_rows` does all of it.
    mine = read_for(server.info, leads, Wanted(("E-mail",)))
    client = psi.Client(server.info, mine.elements)
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys())
    while (request := client.next_request()) is not None:
        client.accept(server.answer(session, request))

    found = matched(mine, client.result(), server.info)
    for row in found.rows:
        print(row["name"], row["met at"], row["label"])
    print(f"{len(found.rows)} of {len(mine.elements)} leads are customers; {found.left_out} has no address")

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""docs/psi-wire.md is enough to write a client: one that shares no code with the library asks real servers."""

from __future__ import annotations

import ast
import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.psi import Server, poly, wire
from ringforge.psi.client import Client
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.table import Shape
from tests.psi import mini_client as mini
from tests.psi.serving import real

MEMBERS = {b"%d" % i: b"label of %d" % i for i in range(300)}
MINE = [b"7", b"299", b"stranger", "Zoë".encode(), b"0"]


def ask(address: str, elements: list[bytes]) -> dict[bytes, bytes]:
    """All of section 3, with one query."""
    line = mini.Wire(address)
    info, prf_left, bins_left = line.info()
    table = mini.digest(info)
    blinded = mini.Blinded(elements)
    values = blinded.values(line.evaluate(table, blinded.points))
    hashing, asker = mini.Hashing(info), mini.Asker(info)
    session = line.open(table, asker.keys())
    # Few elements: each takes the first of its bins that is free.
    cells = [secrets.randbelow(1 << info["plan"]["cell_bits"]) for _ in range(asker.bins)]
    taken: dict[int, tuple[int, int]] = {}
    for e, value in enumerate(values):
        bins = hashing.bins(value)
        i = next(i for i in range(3) if bins[i] not in taken)
        taken[bins[i]] = (e, i)
        cells[bins[i]] = hashing.cell(value, i)
    reply = line.query(table, session, asker.request(cells))
    line.close(session)
    _, prf_after, bins_after = line.info()
    assert (prf_left - prf_after, bins_left - bins_after) == (len(elements), asker.bins)
    words = asker.words(reply)
    found = {}
    for b, (e, i) in taken.items():
        label = mini.label_of(info, hashing, values[e], i, words[b])
        if label is not None:
            found[elements[e]] = label
    return found


@pytest.mark.parametrize("labelled", [True, False])
def test_a_client_written_from_the_document(labelled: bool, tmp_path: Path) -> None:
    server = Server.build(MEMBERS if labelled else list(MEMBERS), log_bins=6)
    with real(server, tmp_path) as shop:
        found = ask(shop.address, MINE)
    assert found == {x: MEMBERS[x] if labelled else b"" for x in MINE if x in MEMBERS}


def test_labels_in_parts_from_the_document(tmp_path: Path) -> None:
    members = {b"7": secrets.token_bytes(1500), b"299": b""}
    server = Server.build(members, log_bins=4)
    assert server.info.parts > 1
    with real(server, tmp_path) as shop:
        assert ask(shop.address, MINE) == members


@pytest.mark.parametrize("labelled", [True, False])
def test_the_polynomial_protocol_from_the_document(labelled: bool, tmp_path: Path) -> None:
    server = Server.build(MEMBERS if labelled else list(MEMBERS), algorithm="poly", client_size=20)
    with real(server, tmp_path) as shop:
        line = mini.Wire(shop.address)
        info, _, bins_left = line.info()
        mine = [*MINE, *(b"%d" % i for i in range(20, 37))]
        table, blinded = mini.digest(info), mini.Blinded(mine)
        values = blinded.values(line.evaluate(table, blinded.points))
        asker = mini.PolyAsker(info)
        key = asker.key()
        assert len(key) == server.plan.key_bytes
        session = line.open(table, key)
        # Each element by each of its choices: a bin has the same answer, whichever of its elements asks.
        taken: dict[int, tuple[int, int]] = {}
        felts = [
            [secrets.randbelow(info["plan"]["t"]) for _ in range(info["plan"]["felts"])] for _ in range(asker.bins)
        ]
        for e, value in enumerate(values):
            places = mini.poly_places(value, asker.bins)
            assert len(set(places)) == 3
            for choice, place in enumerate(places):
                if place not in taken:
                    taken[place], felts[place] = (e, choice), asker.felts(value)
        request = asker.request(felts)
        assert len(request) == server.plan.request_bytes
        reply = line.query(table, session, request)
        line.close(session)
        assert bins_left - line.info()[2] == asker.bins == server.info.bins
    assert len(reply) == server.plan.reply_bytes
    said = asker.values(reply)
    for place, (e, choice) in taken.items():
        expected = (MEMBERS[mine[e]] if labelled else b"") if mine[e] in MEMBERS else None
        assert asker.label(values[e], said, place) == expected, (mine[e], choice)
    asked = [choice for e, choice in taken.values() if mine[e] in MEMBERS]
    assert min(map(asked.count, range(3))) >= 10, "each choice finds members, but for the few in one bin"


def test_the_mini_client_shares_nothing_with_the_library() -> None:
    folder = Path(mini.__file__).parent
    for name in ("mini_client.py", "ristretto.py"):
        for node in ast.walk(ast.parse((folder / name).read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.startswith("ringforge") for n in names)


@pytest.mark.parametrize(
    "arguments",
    [
        {"log_bins": 0},
        {"log_bins": 5, "label_bytes": 40},
        {"log_bins": 9, "capacity": 1 << 16},
        {"log_bins": 12, "capacity": 1 << 18},
    ],
)
def test_sizes_hashes_and_places_are_those_of_the_document(arguments: dict[str, Any]) -> None:
    server = Server.build({b"a": b"b"} if "label_bytes" in arguments else [b"a"], **arguments)
    info, plan = json.loads(server.info.to_json()), server.plan
    assert mini.digest(info).hex() == server.info.digest()
    data = server.info.to_json()
    cut = data[: data.rindex(b',"limits":')] + b"}"
    assert hashlib.sha256(cut).hexdigest() == server.info.digest()
    assert mini.plan_hash(info["plan"]).hex() == info["plan_hash"]
    p = info["plan"]
    row = (1 << p["log_n"]) * p["modulus"].bit_length() // 8
    key_rows = sum(c["count"] for c in [*p["expansion"], p["reconstruction"]]) + 1
    assert plan.key_bytes == 52 + 32 + key_rows * row + 32
    stages = min(p["log_bins"], p["log_n"])
    bits = p["cell_bits"] - p["log_onehot"]
    outputs = (1 << p["log_onehot"]) + bits * p["gadget"]["count"]
    assert plan.request_bytes == 52 + 32 + (outputs << p["log_bins"] - stages) * row + 32
    replies = 1 << p["log_bins"] - min(stages, p["log_n"] - p["log_cell"])
    assert plan.reply_bytes == 52 + replies * 2 * -(-(p["log_reply"] << p["log_n"]) // 8) + 32
    client = Client(server.info, [b"a", b"c"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    hashing, ours = mini.Hashing(info), Shape.of(server.info).prf()
    words = ours.words(client._values)
    for e in range(2):
        value = client._values[e].tobytes()
        bins = ours.bins(words[0])[e].tolist()
        assert hashing.bins(value) == bins
        for i in range(3):
            salt = server.info.salt_array[bins[i : i + 1]]
            index = (words[1][e : e + 1] * 0).astype("u1") + i
            assert hashing.cell(value, i) == int(ours.cells(words[1][e : e + 1], index, salt)[0])
            assert hashing.tag(value, i) == int(ours.tags(words[2][e : e + 1], index)[0])


def test_messages_of_the_document_are_those_of_the_proto() -> None:
    table, session = bytes(range(32)), bytes(16)
    assert mini.message(table=(1, table), blinded=(2, b"x" * 64)) == pb.PrfRequest(
        table=table, blinded=b"x" * 64
    ).SerializeToString(deterministic=True)
    head = mini.message(table=(1, table), session=(2, session), total=(3, 1 << 40))
    made = pb.QueryRequest(header=pb.QueryHeader(table=table, session=session, total_bytes=1 << 40))
    assert mini.Wire.body(head, b"y" * 3) == [
        made.SerializeToString(deterministic=True), pb.QueryRequest(chunk=b"yyy").SerializeToString()
    ]  # fmt: skip
    proto = (Path(wire.__file__).parent / "proto" / "psi.proto").read_text()
    document = (Path(__file__).parents[3] / "docs" / "psi-wire.md").read_text()
    for line in proto[proto.index("service Psi") :].splitlines():
        words = line.split("//")[0].strip()
        assert words in document, words


def test_refusals_have_a_kind(tmp_path: Path) -> None:
    """Section 11."""
    server = Server.build([b"a"], log_bins=0)
    with real(server, tmp_path, prf=3) as shop:
        line = mini.Wire(shop.address)
        info, _, _ = line.info()
        table = mini.digest(info)
        wanted = [
            (lambda: line.evaluate(bytes(32), [b"x" * 32]), "FAILED_PRECONDITION", "MismatchError"),
            (lambda: line.evaluate(table, [bytes(32)]), "INVALID_ARGUMENT", "FormatError"),
            (lambda: line.evaluate(table, [b"x" * 31]), "INVALID_ARGUMENT", "FormatError"),
            (lambda: line.evaluate(table, mini.Blinded([b"%d" % i for i in range(4)]).points),
             "RESOURCE_EXHAUSTED", "QuotaError"),
            (lambda: line.open(table, b"short"), "INVALID_ARGUMENT", "FormatError"),
            (lambda: line.query(table, bytes(16), b"short"), "NOT_FOUND", "MissingKeyError"),
        ]  # fmt: skip
        for act, status, kind in wanted:
            with pytest.raises(mini.RefusedError) as refusal:
                act()
            assert (refusal.value.status, refusal.value.kind) == (status, kind), refusal.value


def test_vectors() -> None:
    """What the document prints."""
    text = (Path(__file__).parents[3] / "docs" / "psi-wire.md").read_text()
    vectors = json.loads(text.split("```json vectors\n")[1].split("```")[0])
    key = int.from_bytes(bytes.fromhex(vectors["key"]), "little")
    for v in vectors["elements"]:
        prf = mini.ristretto.prf(key, v["element"].encode())
        assert prf.hex() == v["F"]
        hashing = mini.Hashing(
            {
                "plan": {"log_bins": 14, "cell_bits": 14},
                "tag_bits": 40,
                "hashes": 3,
                "seed": vectors["seed"],
                "salts": "",
            }
        )
        hashing.salts = [vectors["salt"]] * (1 << 14)
        assert hashing.bins(prf) == v["bins"]
        assert [hashing.cell(prf, i) for i in range(3)] == v["cells"]
        assert [hashing.tag(prf, i) for i in range(3)] == v["tags"]
    ring = mini.Ring(11, vectors["modulus"])
    row = ring.uniform(bytes(range(32)), 5)
    assert row[:3].tolist() == vectors["uniform"]
    assert ring.forward([0, 1] + [0] * 2046)[:2].tolist() == vectors["X"]
    assert mini.chacha20(bytes(range(32)), bytes.fromhex(vectors["nonce"]), 0).hex() == vectors["chacha20"]


def test_vectors_of_the_polynomial_protocol() -> None:
    """Of a client from the document and of the library; the words reach every case of the formula."""
    text = (Path(__file__).parents[3] / "docs" / "psi-wire.md").read_text()
    vectors = json.loads(text.split("```json polynomial vectors\n")[1].split("```")[0])

    class Plan:
        bins: int = vectors["bins"]

    moved = set()
    for words, bins in vectors["places"]:
        prf = b"".join(w.to_bytes(4, "little") for w in words) + bytes(52)
        assert mini.poly_places(prf, Plan.bins) == bins
        assert poly.places(Plan, np.frombuffer(prf, np.uint8)[None]).tolist() == [bins]
        plain = [w * (Plan.bins - i) >> 32 for i, w in enumerate(words)]
        moved.add((bins[1] - plain[1], bins[2] - plain[2], bins[0] < bins[1]))
    assert {m[:2] for m in moved} == {(a, b) for a in (0, 1) for b in (0, 1, 2)}
    assert {m[2] for m in moved} == {False, True}

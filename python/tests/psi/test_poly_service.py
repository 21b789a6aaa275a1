# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables of the polynomial protocol: stores, servers, clients, service, refusals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import secrets
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ringforge import psi
from ringforge._native import io
from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.psi import Server, Store, TableInfo, choice, poly, remote, runs, wire
from ringforge.psi.aio import AsyncConnection
from ringforge.psi.client import asked, check_table, probabilities
from ringforge.psi.estimate import estimate
from ringforge.psi.remote import Connection
from ringforge.psi.service import Service
from ringforge.serving.limits import Limits as ServiceLimits
from ringforge.serving.quota import Quota, QuotaError
from tests.psi.processes import PATIENCE, Serving, query, start
from tests.psi.running import Client, build, encrypted, run
from tests.psi.serving import real
from tests.psi.test_disks import in_process

SIZE = {"algorithm": "poly", "client_size": 40}


def members(count: int, first: int = 0) -> list[bytes]:
    return [b"element %d" % i for i in range(first, first + count)]


def labelled(elements: list[bytes]) -> dict[bytes, bytes]:
    rng = random.Random(len(elements))
    return {x: rng.randbytes(rng.randrange(12)) for x in elements}


@pytest.fixture(scope="module")
def server() -> Server:
    """A server on the clear device."""
    return build(labelled(members(300)), **SIZE)


@pytest.fixture(scope="module")
def true_server() -> Server:
    """A server that computes under encryption."""
    return Server.build(members(300), **SIZE)


# ---- exactness -----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("count", [0, 1, 700])
def test_sets_intersect_like_sets(with_labels: bool, count: int) -> None:
    mine = [*members(60, 650), b"", b"x" * 65535]
    table = [*members(count), b""]
    labels = labelled(table)
    result = run(build(labels if with_labels else table, **SIZE), mine)
    assert result.matches == {x: labels[x] if with_labels else b"" for x in mine if x in labels}
    assert (result.anomalies, result.unasked) == (0, ())


def test_under_encryption(true_server: Server) -> None:
    mine = members(30, 285)
    result = encrypted(true_server, mine)
    assert result.matches == dict.fromkeys(mine[:15], b"")
    chances = result.probabilities
    assert 0 < chances.false_positive <= 2**-40
    assert chances.placement <= 2**-20
    assert chances.decryption <= 2**-40


def test_labels_under_encryption() -> None:
    labels = labelled(members(200))
    server = Server.build(labels, **SIZE)
    mine = members(20, 190)
    assert encrypted(server, mine).matches == {x: labels[x] for x in mine if x in labels}


def test_more_elements_than_a_query_takes(server: Server) -> None:
    each = poly.room(server.info.bins)
    mine = members(each + 20, 250)
    result = run(server, mine)
    assert result.queries == 2
    assert set(result.matches) == set(members(50, 250))


def test_mode_poly_is_the_algorithm() -> None:
    info = build([b"a"], mode="poly", client_size=40).info
    assert (info.mode, info.plan.algorithm, info.tag_bits, info.salts) == ("oprf", "poly", 0, "")
    assert check_table(info, 3, mode="poly")
    assert check_table(info, 3, mode="oprf")
    with pytest.raises(ParameterError, match="not direct"):
        check_table(info, 3, mode="direct")
    with pytest.raises(ParameterError, match="algorithm ringforge, not poly"):
        check_table(build([b"a"], log_bins=4).info, 3, mode="poly")


# ---- stores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_labels", [False, True])
def test_updates(tmp_path: Path, with_labels: bool) -> None:
    first = labelled(members(100))
    store = Store.build(tmp_path / "t", first if with_labels else list(first), capacity=256, **SIZE)
    server = Server(tmp_path / "t", device="clear")
    session_info = server.info
    new = labelled(members(20, 200))
    counts = store.update(add=new if with_labels else list(new), remove=members(30))
    assert counts == (20, 30, 0)
    assert store.info.digest() != session_info.digest()
    early = Client(session_info, members(3))
    early.finish_prf(server.evaluate_prf(early.blinded()))
    assert server.reload()
    assert not server.reload()
    with pytest.raises(MismatchError, match="the table has changed"):
        server.open(early.keys(), session_info.digest())
    everything = {**first, **new}
    for x in members(30):
        del everything[x]
    mine = members(5) + members(5, 95) + members(5, 215) + members(5, 900)
    wanted = {x: everything[x] if with_labels else b"" for x in mine if x in everything}
    assert run(server, mine).matches == wanted
    # As if it had been built so.
    assert len(Store(tmp_path / "t").members()) == 90
    assert store.update(remove=members(3)) == (0, 0, 0)
    assert store.update(add=[members(1)[0]], reseed=True) == (1, 0, 0)
    assert server.reload()
    assert run(server, mine).matches.keys() == wanted.keys() | {members(1)[0]}


def test_an_element_added_again_is_gone_when_it_is_removed(tmp_path: Path) -> None:
    """It is in the table once, however often it was added."""
    store = Store.build(tmp_path / "t", members(10), capacity=64, **SIZE)
    store.update(add=[b"x", b"x", members(1)[0]])
    store.update(add=[b"x"])
    store.update(remove=[b"x", members(1)[0]])
    server = Server(tmp_path / "t", device="clear")
    assert set(run(server, [b"x", *members(3)]).matches) == set(members(2, 1))


def test_an_update_that_fails_leaves_the_table(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "t", members(60), capacity=64, **SIZE)
    with pytest.raises(ParameterError, match="capacity 64"):
        store.update(add=members(30, 100))
    with pytest.raises(ParameterError, match="no labels"):
        store.update(add={b"a": b"b"})
    assert len(Store(tmp_path / "t").members()) == 60
    assert set(run(Server(tmp_path / "t", device="clear"), members(3)).matches) == set(members(3))


def test_progress_and_its_end(tmp_path: Path) -> None:
    told: list[float] = []
    Store.build(tmp_path / "t", members(60), progress=told.append, **SIZE)
    assert told[-1] == 1.0
    assert told == sorted(told)

    class StopError(Exception):
        pass

    def stop(done: float) -> None:
        if done > 0.86:
            raise StopError

    with pytest.raises(StopError):
        Store.build(tmp_path / "u", members(60), progress=stop, **SIZE)
    assert not (tmp_path / "u").exists()


def test_damage_is_found(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "t", labelled(members(20)), **SIZE)
    for file in sorted(store.directory.glob("*.npy")):
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(FormatError, match=f"{file.name}.*checksum"):
            Store(tmp_path / "t")
        file.write_bytes(data[:-1])
        with pytest.raises(FormatError, match=rf"{file.name} has \d+ bytes"):
            Store(tmp_path / "t", verify=False)
        file.unlink()
        with pytest.raises(FormatError, match=f"{file.name} is missing"):
            Store(tmp_path / "t", verify=False)
        file.write_bytes(data)
    Store(tmp_path / "t")


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "direct", "bits": 16}, "mode oprf"),
        ({"hashes": 2}, "3 hash functions"),
        ({"client_size": 0}, "1 to 2"),
        ({"capacity": 10}, "exceed the capacity"),
        ({"limits": psi.Limits(request_bytes=1)}, "the limit is 1"),
        ({"algorithm": "polynomial"}, "choose ringforge, paper or poly"),
    ],
)
def test_tables_that_cannot_be(arguments: dict[str, Any], words: str) -> None:
    elements: Any = [1, 2] if arguments.get("mode") == "direct" else members(20)
    with pytest.raises(ParameterError, match=words):
        build(elements, **{**SIZE, **arguments})


def changed(info: TableInfo, plan: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """A description with other fields, and the hash that its plan would have."""
    made = json.loads(info.to_json())
    made["plan"].update(plan or {})
    return json.dumps({**made, **fields}).encode()


def test_descriptions_that_do_not_hold_together(server: Server) -> None:
    info = server.info
    assert TableInfo.from_json(info.to_json()) == info
    for fields in (
        {"mode": "direct"}, {"hashes": 2}, {"tag_bits": 40}, {"element_bits": 3}, {"salts": "AAAA"}, {"version": 1},
        {"nonce": ""}, {"capacity": 3},
    ):  # fmt: skip
        with pytest.raises(FormatError, match="description of a table"):
            TableInfo.from_json(changed(info, **fields))


_SOURCES = "the sources must be ascending powers"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"degree": 0}, "degree = 0"), ({"degree": 1 << 20}, "plan.poly.degree"), ({"degree": 4000}, "give no power"),
        ({"degree": 9}, "noise leaves"), ({"sources": []}, "plan.poly.sources"), ({"sources": [0]}, _SOURCES),
        ({"sources": [2, 3]}, _SOURCES), ({"sources": [1, 1]}, _SOURCES), ({"sources": [1, 4000]}, _SOURCES),
        ({"sources": list(range(1, 9))}, "its own limit"), ({"bundles": 0}, "bundles = 0"),
        ({"bundles": 1 << 40}, "plan.poly.bundles"), ({"columns": 0}, "0 bins"), ({"columns": 4096}, "8388608 bins"),
        ({"felts": 0}, "plan.poly.felts"), ({"felts": 1}, "room for 4"), ({"felts": 9}, "plan.poly.felts"),
        ({"q": []}, "plan.poly.q"), ({"q": [3]}, "bits of a prime"), ({"q": [1 << 62]}, "bits of a prime"),
        ({"q": [4398046150657] * 2}, "appear once"), ({"p": []}, "plan.poly.p"),
        ({"p": [4398046150657]}, "appear once"),
        ({"t": 4}, "bits of t"), ({"t": 1 << 40}, "plan.poly.t"), ({"t": 114691}, "t = 114691 must be a prime"),
        ({"log_n": 3}, "plan.poly.log_n"), ({"log_n": 12}, "128 bits of security"), ({"log_n": 14}, "1 mod 32768"),
        ({"log_n": 30}, "plan.poly.log_n"), ({"plain_limbs": 0}, "plan.poly.plain_limbs"),
        ({"plain_limbs": 1}, "noise leaves"), ({"plain_limbs": 7}, "plain_limbs = 7"),
        ({"reply_bits": 0}, "plan.poly.reply_bits"), ({"reply_bits": 20}, "noise leaves"),
        ({"reply_bits": 1000}, "plan.poly.reply_bits"), ({"reply_drop": 27}, "noise leaves"),
        ({"reply_drop": 63}, "reply_drop = 63"), ({"label_words": -1}, "plan.poly.label_words"),
        ({"label_words": 0}, "room for 0"), ({"label_words": 4096, "bundles": 4096}, "replies of this table have"),
        ({"label_words": 1 << 30}, "plan.poly.label_words"), ({"algorithm": "ringforge"}, "plan.ringforge"),
        ({"algorithm": "other"}, "does not match any"), ({"more": 1}, "plan.poly.more"),
    ],
)  # fmt: skip
def test_foreign_plans_are_refused_before_anything_is_sent(server: Server, plan: dict[str, Any], words: str) -> None:
    """Foreign degrees, window sets, levels, of a server that gives each plan's own hash."""
    assert (server.info.plan.degree, server.info.plan.sources) == (8, [1, 3, 4])
    try:
        native = poly.PlanFields(**{**server.info.plan.model_dump(), **plan}).native()
    except (ParameterError, ValidationError):
        fitting = server.info.plan_hash
    else:
        fitting = native.hash.hex()
    with pytest.raises((FormatError, ParameterError), match=words):
        psi.Client(TableInfo.from_json(changed(server.info, plan, plan_hash=fitting)), [b"a"])


@pytest.mark.parametrize("plan", [{"bundles": 3}, {"reply_bits": 30}, {"reply_drop": 0}, {"label_words": 9}])
def test_foreign_plans_that_do_no_harm_are_taken_with_their_own_hash(server: Server, plan: dict[str, Any]) -> None:
    assert psi.Client(of_plan(server, **plan), [b"a"]).queries == 1
    with pytest.raises(MismatchError, match="the same release"):
        psi.Client(TableInfo.from_json(changed(server.info, plan)), [b"a"])


def of_plan(server: Server, **plan: Any) -> TableInfo:
    """The description of a table of another plan, as its server would give it."""
    native = server.info.plan.model_copy(update=plan).native()
    return TableInfo.from_json(changed(server.info, plan, plan_hash=native.hash.hex()))


def test_a_plan_with_many_bundles_is_too_large_for_a_client(server: Server) -> None:
    """Its replies are; nothing of the kind is computed, sent or taken."""
    info = of_plan(server, bundles=4096)
    with pytest.raises(ParameterError, match=r"replies of this table have .* allow more with request_bytes"):
        psi.Client(info, [b"a"], request_bytes=1 << 20)


def test_all_replies_of_a_run_are_bounded(server: Server) -> None:
    """They are kept until the session is closed: each may be small and all of them fill the memory."""
    info = of_plan(server, bundles=512)
    reply = info.native().reply_bytes
    assert check_table(info, 100_000, request_bytes=reply * asked(info, 100_000)[0] // 4 + 1)
    for refuse in (check_table, lambda *a, **b: estimate(*a, 1, **b)):
        with pytest.raises(ParameterError, match=r"kept until the last one is there.*fewer elements at once"):
            refuse(info, 100_000, request_bytes=2 * reply)


def test_plans_that_cannot_tell_elements_apart_are_refused(server: Server) -> None:
    """A server could say of everything that it has it, and see what a client does then."""
    info = of_plan(server, felts=1, label_words=0)
    info = TableInfo.from_json(changed(info, label_bytes=0, nonce=""))
    with pytest.raises(ParameterError, match=r"false positives: .* more residues"):
        psi.Client(info, [b"a"])


def test_queries_are_counted_alike_everywhere(server: Server) -> None:
    """The client, what it was told before, and the search for plans agree; the chances are those of the document."""
    info, each = server.info, poly.room(server.info.bins)
    for count in (1, each, each + 1, psi.hashing.room(info.bins, 3), 5 * each):
        queries = asked(info, count)[0]
        assert queries == estimate(info, count).queries == poly.estimate(info.plan, 300, count).queries
        chances = probabilities(info, count, info.native())
        assert chances.placement <= queries * 2**-40
    assert probabilities(info, each, info.native()).false_positive <= 2**-40


@pytest.mark.parametrize("with_labels", [False, True])
def test_a_server_that_says_yes_to_everything_is_found_out(with_labels: bool) -> None:
    """Replies of zeros are well formed. Bins of nobody's element match then, too."""
    elements = members(100)
    server = Server.build(labelled(elements) if with_labels else elements, **SIZE)
    mine = psi.Client(server.info, members(10, 1000))
    mine.finish_prf(server.evaluate_prf(mine.blinded()))
    session = server.open(mine.keys())
    request = mine.next_request()
    assert request is not None
    _, parameters, body = io.unseal(server.answer(session, request), io.PSI_POLY_REPLY)
    mine.accept(io.seal(io.PSI_POLY_REPLY, parameters, body[:8] + bytes(len(body) - 8)))
    result = mine.result()
    assert with_labels or len(result.matches) == 10
    assert result.anomalies >= server.info.bins - 10


def test_labels_longer_than_the_plan_has_room_for(server: Server) -> None:
    info = TableInfo.from_json(changed(server.info, label_bytes=4000))
    with pytest.raises(ParameterError, match="room for"):
        psi.Client(info, [b"a"])


def test_messages_of_others_are_refused(true_server: Server) -> None:
    server, other = true_server, Server.build(members(5000), algorithm="poly", client_size=1000)
    mine = psi.Client(server.info, [b"a"])
    mine.finish_prf(server.evaluate_prf(mine.blinded()))
    stranger = psi.Client(server.info, [b"a"])
    stranger.finish_prf(server.evaluate_prf(stranger.blinded()))
    keys, request = mine.keys(), mine.next_request()
    assert request is not None
    assert len(keys) == server.plan.key_bytes
    assert len(request) == server.plan.request_bytes
    for bad in (b"", keys[:-1], keys + b"\0", bytes(len(keys)), b"\xff" * len(keys), request):
        with pytest.raises((FormatError, MismatchError)):
            server.open(bad)
    with pytest.raises((FormatError, MismatchError)):
        server.open(psi.Client(other.info, [b"a"]).keys())
    session = server.open(keys)
    assert session.bytes > 0
    for bad in (
        b"",
        request[:-1],
        bytes(len(request)),
        request[:200] + bytes([request[200] ^ 1]) + request[201:],
        keys,
    ):
        with pytest.raises((FormatError, MismatchError)):
            server.answer(session, bad)
    with pytest.raises(Error, match="cancel"):
        server.answer(session, request, lambda _: False)
    reply = server.answer(session, request)
    for bad in (b"", reply[:-1], reply + b"\0" * 9):
        with pytest.raises(FormatError, match="a reply of"):
            mine.accept(bad)
    # The same request twice: two replies, which say the same.
    again = server.answer(session, request)
    mine.accept(again)
    assert mine.result().matches == {}
    stranger.next_request()
    stranger.accept(reply)
    with pytest.raises(MismatchError, match="another client"):
        stranger.result()


def test_a_session_stays_with_its_state(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "t", {b"a": b"1", b"b": b"2"}, capacity=16, **SIZE)
    server = Server(tmp_path / "t", device="clear")
    client = Client(server.info, [b"a", b"b"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys(), client.info.digest())
    store.update({b"a": b"3"})
    assert server.reload()
    with pytest.raises(MismatchError, match="ask again"):
        server.open(client.keys(), client.info.digest())
    request = client.next_request()
    assert request is not None
    client.accept(server.answer(session, request))
    assert client.result().matches == {b"a": b"1", b"b": b"2"}


def test_a_table_of_another_plan_is_taken_up_with_its_own_sizes(tmp_path: Path) -> None:
    Store.build(tmp_path / "t", [b"a"], capacity=16, **SIZE)
    server = Server(tmp_path / "t", daily={"prf_per_day": 7, "bins_per_day": 1 << 20}, device="clear")
    before = server.info.limits
    Store.build(tmp_path / "t", members(30), algorithm="poly", client_size=3000, capacity=64)
    assert server.reload()
    assert server.info.limits.request_bytes != before.request_bytes
    assert (server.info.limits.prf_per_day, server.info.limits.bins_per_day) == (7, 1 << 20)
    assert set(run(server, members(5)).matches) == set(members(5))


def test_a_table_that_cannot_be_served_is_not_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by a device that does not run its plan, nor beyond the limits given, nor where no client fits."""
    Store.build(tmp_path / "t", [b"a"], log_bins=4)
    server = Server(tmp_path / "t", device="clear")
    limited = Server(tmp_path / "t", limits=server.info.limits, device="clear")
    digest = server.info.digest()
    Store.build(tmp_path / "t", members(30), **SIZE)
    with pytest.raises(ParameterError, match="its limit is"):
        limited.reload()

    def small(info: TableInfo) -> None:
        raise ParameterError(f"no memory for {info.plan.algorithm}")

    with pytest.raises(ParameterError, match="no memory for poly"):
        server.reload(small)

    def refuse(_: Any) -> None:
        raise ParameterError("another device")

    with monkeypatch.context() as patch:
        patch.setattr(server.device, "check", refuse)
        with pytest.raises(ParameterError, match="another device"):
            server.reload()
    assert {server.info.digest(), limited.info.digest()} == {digest}
    assert server.reload()


def test_a_service_takes_up_no_table_that_its_memory_cannot_hold(tmp_path: Path) -> None:
    Store.build(tmp_path / "t", [b"a"], **SIZE)
    server = Server(tmp_path / "t", device="clear")
    plan, table = server.plan, server.info.digest()
    memory = max(plan.key_bytes, plan.session_bytes) + plan.request_bytes + plan.reply_bytes
    with contextlib.closing(Quota(tmp_path / "q", {"prf": 9, "bins": 9}, words=wire.QUOTAS)) as quota:
        service = Service(server, quota, ServiceLimits(memory=memory))
        Store.build(tmp_path / "t", members(30), algorithm="poly", client_size=3000)
        with pytest.raises(ParameterError, match="give --memory"):
            service.reload()
    assert server.info.digest() == table


# ---- what messages show --------------------------------------------------------------------------


def test_sizes_do_not_depend_on_elements_or_matches() -> None:
    shapes = set()
    for table, mine in (
        (members(50), members(40)), (members(50), members(40, 1000)), ([b"a"], members(40)), (members(50), [b"z"]),
    ):  # fmt: skip
        server = build(table, capacity=64, **SIZE)
        client = Client(server.info, mine)
        blinded = client.blinded()
        client.finish_prf(server.evaluate_prf(blinded))
        session = server.open(client.keys())
        request = client.next_request()
        assert request is not None
        reply = server.answer(session, request)
        shapes.add((len(blinded), len(client.keys()), client.queries, len(request), len(reply)))
    assert len(shapes) == 1


# ---- the service ---------------------------------------------------------------------------------


def test_over_the_wire(true_server: Server, tmp_path: Path) -> None:
    mine = members(30, 285)
    with real(true_server, tmp_path) as shop:

        def ask(_: int) -> Any:
            with Connection(shop.address, timeout=120) as c:
                return remote.intersect(c, mine, mode="poly").result.matches

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(ask, range(2))) == [dict.fromkeys(mine[:15], b"")] * 2

        async def both() -> Any:
            async with AsyncConnection(shop.address, timeout=120) as c:
                cost = await c.estimate(30)
                outcome = await c.intersect(mine)
                assert cost.bins_asked == true_server.info.bins
                total = outcome.traffic.total()
                assert abs(sum(cost.sent.values()) - total[0]) < 500
                assert abs(sum(cost.received.values()) - total[1]) < 2000
                return outcome.result.matches

        assert asyncio.run(both()) == dict.fromkeys(mine[:15], b"")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, and a set to ask for."""
    folder = tmp_path_factory.mktemp("poly")
    Store.build(folder / "table", labelled(members(300)), capacity=1024, **SIZE)
    (folder / "mine").write_bytes(b"\n".join(members(30, 285)))
    return folder


def test_processes(shop: Path) -> None:
    """A query; a client and a server that are killed in the middle; a table that changes under the server."""
    wanted = [x.decode() for x in members(15, 285)]
    with Serving(shop) as serving:
        assert [m["element"] for m in query(serving, shop, "mine")["matches"]] == wanted
        store = Store(shop / "table")
        store.update(add={b"element 300": b"new"})
        serving.process.send_signal(signal.SIGHUP)
        serving.wait_for("reloaded")
        found = query(serving, shop, "mine")["matches"]
        assert [m["element"] for m in found] == [*wanted, "element 300"]
        assert found[-1]["label"] == "new"
        assert serving.stop() == 0
    with Serving(shop, slow=600) as serving:
        words = ["query", "--server", serving.address, "--set", "mine"]
        client = start(words, shop)
        serving.wait_for("computing")
        client.kill()
        client.communicate(timeout=PATIENCE)
        serving.wait_for("Query")
        assert [e["result"] for e in serving.events("Query")] == ["gone"]
        client = start(words, shop)
        serving.wait_for("computing", 2)
        serving.kill()
        _, err = client.communicate(timeout=PATIENCE)
        assert client.returncode == 1
        assert "what was asked has no answer; run again" in err


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """What a build and an update leave when there is no room: nothing, and the table as it was."""
    script = """
        import resource, signal
        from ringforge.psi import Store
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
        try:
            {act}
        except Exception as e:
            print(type(e).__name__, e)
    """
    elements = "[b'%d' % i for i in range(3000)]"
    make = f"Store.build('t', {elements}, capacity=8192, algorithm='poly', client_size=40)"
    for size in (20_000, 200_000, 1_000_000):
        done = in_process(script.format(size=size, act=make), tmp_path)
        assert "free space, or name a directory where there is more" in done.stdout, (done.stdout, done.stderr)
        assert not (tmp_path / "t").exists()
    done = in_process(script.format(size=1 << 40, act=make), tmp_path)
    assert done.stdout == "", done.stdout
    before = Store(tmp_path / "t").info
    done = in_process(script.format(size=200_000, act="Store('t').update(add=[b'new'])"), tmp_path)
    assert "a table that was here is as it was" in done.stdout, (done.stdout, done.stderr)
    assert Store(tmp_path / "t").info == before
    assert len(Store(tmp_path / "t").members()) == 3000


def test_quotas_count_the_bins_of_a_query(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "Client", Client)
    bins = server.info.bins
    with real(server, tmp_path, bins=bins + 1) as shop, Connection(shop.address, timeout=60) as c:
        assert set(remote.intersect(c, members(3)).result.matches) == set(members(3))
        assert c.info()[1]["bins"] == 1
        with pytest.raises(QuotaError, match=f"{bins} bins .*leaves this client 1"):
            remote.intersect(c, members(3))


def test_memory_of_one_client_must_fit(server: Server, tmp_path: Path) -> None:
    from ringforge.serving.limits import Limits

    with (
        pytest.raises(ParameterError, match="give --memory"),
        real(server, tmp_path, limits=Limits(memory=server.plan.key_bytes)),
    ):
        pass


def test_two_threads_on_one_session(true_server: Server) -> None:
    clients = [psi.Client(true_server.info, members(10, 295 + i)) for i in range(2)]
    for c in clients:
        c.finish_prf(true_server.evaluate_prf(c.blinded()))
    sessions = [true_server.open(c.keys()) for c in clients]

    def ask(i: int) -> set[Any]:
        request = clients[i].next_request()
        assert request is not None
        clients[i].accept(true_server.answer(sessions[i], request))
        return set(clients[i].result().matches)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == [set(members(5, 295)), set(members(4, 296))]


def test_estimates_need_no_elements(server: Server) -> None:
    found = estimate(server.info, 30)
    assert (found.queries, found.bins_asked) == (1, server.info.bins)
    assert found.evaluations == asked(server.info, 30)[1] == 64
    assert 0 < found.false_positive <= 2**-40


def test_estimated_seconds_are_of_one_query_of_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each query takes as long, of however many; a machine three times as slow takes three times as long."""
    monkeypatch.setattr(poly, "pace", lambda: 1.0)
    one = estimate(server.info, 1)
    assert one.seconds_per_query == poly.estimate(server.info.plan, server.info.capacity, 1).online_seconds
    for count in (30, poly.room(server.info.bins), poly.room(server.info.bins) + 1, 10_000):
        for exact in (False, True):
            found = estimate(server.info, count, exact_sizes=exact)
            assert found.seconds_per_query == one.seconds_per_query
            assert found.seconds == found.queries * one.seconds_per_query
    assert estimate(server.info, 1, 2).seconds_per_query == one.seconds_per_query / 2
    monkeypatch.setattr(poly, "pace", lambda: 3.0)
    assert estimate(server.info, 1).seconds_per_query == 3 * one.seconds_per_query


@pytest.mark.parametrize("sizes", [(1 << 10, 1 << 8), (1 << 18, 1 << 10), (1 << 22, 64)])
def test_a_slow_machine_chooses_as_a_fast_one(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """All seconds are measured at one time: what makes one longer makes the others longer."""
    ratios = []
    for slower in (1.0, 3.0):
        monkeypatch.setattr(choice, "prf_seconds", lambda slower=slower: 1e-5 * slower)
        monkeypatch.setattr(choice.planner, "measure", lambda *_, slower=slower: 2e-3 * slower)
        monkeypatch.setattr(poly, "pace", lambda slower=slower: slower)
        lookup, by_poly = choice.lookup(*sizes), choice.polynomial(*sizes)
        ratios.append(by_poly.server_seconds / lookup.server_seconds)
    assert ratios[0] == pytest.approx(ratios[1])


def test_any_random_sets() -> None:
    rng = random.Random(5)
    for _ in range(5):
        everything = [secrets.token_bytes(rng.randrange(1, 9)) for _ in range(rng.randrange(1, 400))]
        table = set(rng.sample(everything, len(everything) // 2))
        mine = set(rng.sample(everything, min(len(everything), 40)))
        assert set(run(build(table, **SIZE), mine).matches) == table & mine

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Registration, names, limits, keys; applications leave results where they are, and the layer knows no application."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ringforge
from ringforge import _native, ckks, devices, gates, matmul, matvec, psi
from ringforge.devices import registry
from ringforge.errors import Error, MismatchError, MissingKeyError, ParameterError
from ringforge.gates.kernels import GateLevelKernel
from tests.devices.resident import Resident, ResidentDevice

SEED = ckks.TestSeed(bytes(range(32)))


def test_the_layer_names_no_application() -> None:
    folder = Path(devices.__file__).parent
    for name in ("base", "registry", "cpu", "clear", "conformance", "ciphertexts"):
        text = (folder / f"{name}.py").read_text()
        found = re.findall(r"\b(matvec|matmul|gates|psi|lookup|fhew|hw)\b", text, re.IGNORECASE)
        assert not found, f"{name}.py names {found}"


def test_the_product_imports_no_hardware() -> None:
    """Until a name asks for it."""
    code = (
        "import sys; from ringforge import devices, gates, matmul, matvec, psi; devices.open_device('cpu')\n"
        "assert not [m for m in sys.modules if m.startswith('ringforge.hw')]\n"
        "print(devices.open_device('rtl:matvec-small').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "rtl:matvec-small\n"), done.stderr


@dataclass(frozen=True)
class Nothing:
    """A kernel that asks for much."""

    degree: int = 1 << 11
    limbs: int = 3
    prime_bits: int = 50

    def needs(self) -> devices.Needs:
        return devices.Needs(self.degree, self.limbs, self.prime_bits)


class _Run(devices.Implementation):
    def check(self, device: Any, kernel: Nothing) -> None:
        if kernel.degree == 1:
            raise ParameterError(f"{device.name} has no memory for it")

    def prepare(self, p: devices.Preparation[Any]) -> Any:
        return p.keys

    def run(self, r: devices.Execution[Any, Any]) -> tuple[list[Any], devices.Report]:
        return [r.state, r.kernel, *r.inputs], devices.Report(r.device.name, 1.0)


class _Limited(devices.Device):
    name = "limited:a"
    max_degree, max_limbs, max_prime_bits = 1 << 11, 3, 50

    def __init__(self, which: str, *, speed: int = 1) -> None:
        self.name, self.speed = f"limited:{which}", speed


devices.register_device("limited", _Limited, lambda: ["limited:a", "limited:b"], options=("speed",))
devices.register(Nothing, "limited", _Run())


def test_limits_are_asked_of_the_kernel() -> None:
    device = devices.open_device("limited:b", speed=3)
    assert (device.name, device.kind, device.speed) == ("limited:b", "limited", 3)  # type: ignore[attr-defined]
    assert device.capabilities().kernels == {Nothing}
    device.check(Nothing())
    for kernel, why in (
        (Nothing(degree=1 << 12), "ring degree up to 2048, the program needs 4096"),
        (Nothing(limbs=4), "limbs up to 3, the program needs 4"),
        (Nothing(prime_bits=51), "bits of a prime up to 50, the program needs 51"),
        (Nothing(degree=1), "limited:b has no memory for it"),
    ):
        for use in (device.check, lambda k: device.prepare(k, devices.KeySet())):
            with pytest.raises(ParameterError, match=why):
                use(kernel)
    with pytest.raises(ParameterError, match="cpu does not run Nothing"):
        devices.open_device("cpu").prepare(Nothing(), devices.KeySet())
    handle = device.prepare(Nothing(), devices.KeySet())
    assert handle.storage == 0
    assert device.run(handle, [5])[0] == [handle.state, handle.kernel, 5]
    with pytest.raises(MismatchError, match="prepared for device limited:b, not limited:a"):
        devices.open_device("limited:a").run(handle, [])


def test_what_cannot_be_registered_or_opened() -> None:
    with pytest.raises(ParameterError, match="an implementation for limited already"):
        devices.register(Nothing, "limited", _Run())
    with pytest.raises(ParameterError, match='kind of devices "cpu" already'):
        devices.register_device("cpu", devices.CpuDevice)
    with pytest.raises(ParameterError, match="without a colon"):
        devices.register_device("cpu:2", devices.CpuDevice)
    for name in ("cpuu", "cpu:2", "limited", "limited:c", ""):
        with pytest.raises(ParameterError, match="the devices are cpu, clear, "):
            devices.open_device(name)
    with pytest.raises(ParameterError, match="device cpu has no option waves"):
        devices.open_device("cpu", waves="x")


def test_devices_of_installed_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = registry._KINDS.pop("limited")

    class Point:
        """An entry point whose module registers the device."""

        def load(self) -> None:
            registry._KINDS["limited"] = limited

    broken = importlib.metadata.EntryPoint("broken", "no.such.module", "ringforge.devices")
    monkeypatch.setattr(registry, "registered", lambda _: {"broken": broken, "limited": Point()})
    assert devices.open_device("limited:a").name == "limited:a"
    for use in (devices.names, lambda: devices.open_device("broken:1")):
        with pytest.raises(Error, match=r"no\.such\.module, which is registered as broken of ringforge\.devices"):
            use()


def test_key_sets_hold_keys_of_any_kind() -> None:
    keys = devices.KeySet(own=(b"raw", 7))
    assert (keys.of(bytes), keys.of(int), keys.of(float)) == (b"raw", 7, None)
    assert devices.KeySet().bytes == 0
    with pytest.raises(MissingKeyError, match="relinearisation key"):
        keys.required_relin()
    key = gates.ClearKey(gates.parameters("gates-128"))
    assert devices.KeySet(own=(key,)).bytes == key.bytes > 0


def test_buffers_of_others_are_refused() -> None:
    device = devices.open_device("cpu")
    handle = device.prepare(GateLevelKernel(gates.parameters("gates-128")), devices.KeySet(own=(evaluation_key(),)))
    for use in (lambda: device.download(Resident(1)), lambda: device.run(handle, [1, 2, Resident(3), 4])):
        with pytest.raises(MismatchError, match="memory of device resident, not of cpu: download it there first"):
            use()
    assert device.download(5) == 5

    class Own(devices.Buffer):
        pass

    with pytest.raises(MismatchError, match="keeps no results in buffers"):
        device.download(Own("cpu"))


_KEY: list[Any] = []


def evaluation_key() -> Any:
    if not _KEY:
        _KEY.append(gates.keygen(threads=2))
    return _KEY[0][1]


# ---- applications --------------------------------------------------------------------------------


def test_layers_pass_results_on() -> None:
    """Three layers, one download for each ciphertext of the last one; the same words as on the processor."""
    rng = np.random.default_rng(4)
    model = matvec.Sequential(
        [matvec.Linear(rng.uniform(-1, 1, (6, 9))), matvec.Square(), matvec.Linear(rng.uniform(-1, 1, (5, 6)))]
    )
    program = matvec.compile_model(model, "set-b").program
    client = matvec.Client(program, fixed_seed_for_tests=SEED)
    keys, x = client.evaluation_keys(2), client.encrypt(rng.uniform(-1, 1, 9))
    device = ResidentDevice()
    found, report = matvec.Server(model, program, keys, device=device, threads=2).evaluate(x)
    expected, _ = matvec.Server(model, program, keys, threads=2).evaluate(x)
    assert (device.runs, device.downloads, report.device) == (3, 1, "resident")
    for a, b in zip(found.groups[0], expected.groups[0], strict=True):
        assert all(np.array_equal(a.limb(p, i), b.limb(p, i)) for p in (0, 1) for i in range(a.level + 1))


def test_products_pass_results_on() -> None:
    """Transforms go into the sum of products as they are; the host's sums take what they need."""
    primes = _native.kernels.primes_below(50, 7, 1 << 18)
    params = ckks.Parameters("test", 10, primes[1:], primes[:1], 1, 40.0, "test")
    program = matmul.trace(params, lambda A, B: (A @ B) + A, A=(4, 4), B=(4, 4))
    holder = matmul.KeyHolder(program, accept_insecure="test", fixed_seed_for_tests=SEED)
    keys, rng = holder.evaluation_keys(), np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (2, 4, 4))
    parcels = [holder.encrypt("A", a), holder.encrypt("B", b)]
    device = ResidentDevice()
    found, report = matmul.Server(program, keys, device=device).run(parcels)
    expected, _ = matmul.Server(program, keys).run(parcels)
    assert report.device == "resident"
    assert device.runs >= 3
    assert 0 < device.downloads < device.runs
    (name,) = found
    for x, y in zip(found[name].ciphertexts, expected[name].ciphertexts, strict=True):
        assert all(np.array_equal(x.limb(p, i), y.limb(p, i)) for p in (0, 1) for i in range(x.level + 1))
    assert np.abs(holder.decrypt(found[name]) - (a @ b + a)).max() < 1e-4


def test_circuits_pass_results_on() -> None:
    """Wires stay on the device from the first level to the last."""
    secret, key = evaluation_key() and _KEY[0]
    device, circuit = ResidentDevice(), gates.Circuit("alu8")
    inputs = {
        name: gates.encrypt(secret, gates.to_bits(value, width))
        for name, value, width in (("a", 9, 8), ("b", 5, 8), ("op", 0, 3))
    }
    evaluator = gates.Evaluator(key, 2, device=device)
    found = circuit.evaluate(evaluator, inputs)
    assert gates.from_bits(gates.decrypt(secret, found["y"])) == 14
    assert device.runs >= circuit.report().depth
    assert device.downloads == 1
    gate = evaluator.and_(inputs["a"], inputs["b"])
    assert gates.from_bits(gates.decrypt(secret, gate)) == 9 & 5


def test_answers_come_from_the_device() -> None:
    device = ResidentDevice()
    server = psi.Server.build([1, 5], mode="direct", bits=8, log_bins=4, device=device)
    client = psi.Client(server.info, [1, 2, 5])
    session = server.open(client.keys())
    while (request := client.next_request()) is not None:
        client.accept(server.answer(session, request))
    assert set(client.result().matches) == {1, 5}
    assert device.runs == device.downloads == client.queries
    with pytest.raises(ParameterError, match="rtl:matvec-small does not run LookupKernel"):
        psi.Server.build([1], mode="direct", bits=8, log_bins=4, device="rtl:matvec-small")
    with pytest.raises(ParameterError, match="does not run GateLevelKernel"):
        gates.Evaluator(evaluation_key(), device="rtl:matvec-small")


def test_the_public_names_are_there() -> None:
    assert set(devices.__all__) <= set(dir(devices))
    assert "devices" in ringforge.__all__


def test_progress_may_return_anything_and_false_cancels_where_that_is_possible() -> None:
    """One kind of callback everywhere: encoding goes on whatever it returns, gates and lookups end at False."""
    model = matvec.Linear(np.eye(4))
    program = matvec.compile_model(model, "set-b").program
    client = matvec.Client(program, fixed_seed_for_tests=SEED)
    seen: list[float] = []
    for answer in (None, False, 0, "on"):
        matvec.Server(model, program, client.evaluation_keys(), progress=lambda f, a=answer: seen.append(f) or a)  # type: ignore[misc]
    assert max(seen) == 1.0
    secret, _ = evaluation_key() and _KEY[0]
    bits, evaluator = gates.encrypt(secret, [0, 1, 1, 0]), gates.Evaluator(evaluation_key())
    with pytest.raises(Error, match="cancelled"):
        evaluator.gate(gates.GateKind.AND, bits, bits[::-1], progress=lambda _: False)
    found = evaluator.gate(gates.GateKind.AND, bits, bits[::-1], progress=lambda _: 0)  # type: ignore[arg-type,return-value]
    assert gates.decrypt(secret, found).tolist() == [0, 1, 1, 0]


def test_a_spec_says_what_table_is_built() -> None:
    spec = psi.BuildSpec(mode="direct", bits=8, log_bins=4)
    for server in (psi.Server.build([1], spec), psi.Server.build([1], mode="direct", bits=8, log_bins=4)):
        assert (server.info.mode, server.info.element_bits, server.info.plan.log_bins) == ("direct", 8, 4)
    assert psi.Server.build([1], spec, bits=9).info.element_bits == 9
    with pytest.raises(TypeError, match="bin_count"):
        psi.Server.build([1], spec, bin_count=5)

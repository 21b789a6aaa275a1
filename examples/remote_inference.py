# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Client and server of encrypted inference as two programs with files between them.

    python examples/remote_inference.py          # plays both, each in a process of its own
    python examples/remote_inference.py publish  # server: model.npz -> program.json
    python examples/remote_inference.py ask      # client: program.json -> secret.key, eval.keys, x.ct
    python examples/remote_inference.py answer   # server: model.npz, program.json, eval.keys, x.ct -> y.ct
    python examples/remote_inference.py read     # client: secret.key, program.json, y.ct -> numbers

The client's folder and the server's are apart; both see only `shared`, and the secret key is not in it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ringforge import matvec


def publish(server: Path, shared: Path) -> None:
    """Server: makes a model of two layers with squares between and publishes how to ask it."""
    rng = np.random.default_rng(7)
    layers = [
        matvec.Linear(rng.normal(size=(16, 24)) * 0.1, rng.normal(size=16) * 0.1),
        matvec.Square(),
        matvec.Linear(rng.normal(size=(4, 16)) * 0.2),
    ]
    model = matvec.Sequential(layers)
    matvec.save_model(server / "model.npz", model)
    matvec.compile_model(model, batch=4).program.save(shared / "program.json")


def ask(client_folder: Path, shared: Path) -> None:
    """Client: makes keys, encrypts three vectors."""
    program = matvec.Program.load(shared / "program.json")
    client = matvec.Client(program)
    client.save_secret_key(client_folder / "secret.key")
    client.save_evaluation_keys(shared / "eval.keys")
    x = np.random.default_rng(8).uniform(-1, 1, size=(3, program.inputs))
    np.save(client_folder / "x.npy", x)
    client.encrypt(x).save(shared / "x.ct", program)


def answer(server_folder: Path, shared: Path) -> None:
    """Server: computes on ciphertexts."""
    program = matvec.Program.load(shared / "program.json")
    keys = matvec.EvaluationKeys.load(shared / "eval.keys", program)
    server = matvec.Server(matvec.load_model(server_folder / "model.npz"), program, keys)
    inputs = matvec.EncryptedVectors.load(shared / "x.ct", program, server.input_blocks)
    result, report = server.evaluate(inputs)
    result.save(shared / "y.ct", program)
    print(f"server: {report.seconds * 1e3:.1f} ms, {report.operations['key_switch']} key switches")


def read(client_folder: Path, shared: Path) -> None:
    """Client: decrypts the answers."""
    program = matvec.Program.load(shared / "program.json")
    client = matvec.Client.load(program, client_folder / "secret.key")
    blocks = program.plans[-1].packing.row_blocks
    result = matvec.EncryptedVectors.load(shared / "y.ct", program, blocks)
    y = client.decrypt(result, count=3)
    np.save(client_folder / "y.npy", y)
    print("client reads:")
    print(np.round(y, 4))


STEPS = {
    "publish": (publish, "server"),
    "ask": (ask, "client"),
    "answer": (answer, "server"),
    "read": (read, "client"),
}


def main() -> None:
    """One step in the given folder, or all of them in a temporary one."""
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            for step in STEPS:
                subprocess.run([sys.executable, __file__, step, folder], check=True)
            root = Path(folder)
            model = matvec.load_model(root / "server" / "model.npz")
            error = np.abs(model(np.load(root / "client" / "x.npy")) - np.load(root / "client" / "y.npy")).max()
            print(f"largest difference from the model in the clear: {error:.1e}")
        return
    run, role = STEPS[sys.argv[1]]
    root = Path(sys.argv[2] if len(sys.argv) > 2 else "remote-inference")
    for name in (role, "shared"):
        (root / name).mkdir(parents=True, exist_ok=True)
    run(root / role, root / "shared")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Many encrypted matrix products at once: N/(2d) products of d x d matrices for about 3*d key switches.

A batch of matrices is d ciphertexts. Ciphertext j holds column j (or row j) of all matrices, so one matrix costs
as much as N/(2d) of them: use this for many products of one shape. The method is in docs/matmul-batch.md.

>>> import numpy as np
>>> from ringforge import ckks, params
>>> from ringforge.matmul.batch import BatchProduct
>>> s = ckks.Session(params.named("set-a"))
>>> product = BatchProduct(s.context, 16)
>>> keys = product.make_keys(s.client, s.secret_key, level=1)
>>> rng = np.random.default_rng(1)
>>> a, b = rng.uniform(-1, 1, (2, product.capacity, 16, 16))
>>> left = product.encrypt(s.client, s.secret_key, a, by="columns", level=1)
>>> right = product.encrypt(s.client, s.secret_key, b, by="rows", level=1)
>>> result, report = product.multiply(left, right, keys)
>>> bool(np.abs(product.decrypt(s.client, s.secret_key, result) - a @ b).max() < product.error_bound(result))
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import (
    BatchMatmulCost,
    BatchMatmulReport,
    Client,
    Context,
    GaloisKeys,
    MatrixBatch,
    PublicKey,
    RelinKey,
    SecretKey,
)
from ringforge.arrays import complex_numbers
from ringforge.devices import Device, Handle, KeySet, Progress, Report, open_device
from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.hidden import HiddenWhole
from ringforge.matmul.batch_kernels import Lines, lines_of, native_lines
from ringforge.matmul.batch_shards import BatchKernel
from ringforge.refusals import whole

__all__ = ["BatchKeys", "BatchProduct", "EncryptedMatrices", "Lines"]

ComplexArray = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class BatchKeys:
    """What the server needs: d - 1 Galois keys and a relinearisation key. Nothing here decrypts."""

    galois: GaloisKeys
    relin: RelinKey
    #: The same for devices, which put a set of keys once.
    key_set: KeySet = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key_set", KeySet(self.galois, self.relin))

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return int(self.galois.bytes) + int(self.relin.bytes)


@dataclass(frozen=True, eq=False)
class EncryptedMatrices(HiddenWhole):
    """`count` encrypted matrices of rows x cols, padded with zeros to d x d and to a full batch."""

    revealed_by = "BatchProduct.decrypt gives the matrices to whoever has the key"

    batch: MatrixBatch
    count: int
    rows: int
    cols: int

    @property
    def by(self) -> Lines:
        """Which lines are ciphertexts of their own."""
        return lines_of(self.batch)

    @property
    def level(self) -> int:
        return int(self.batch.level)

    @property
    def scale(self) -> float:
        return float(self.batch.scale)

    @property
    def bound(self) -> float:
        """Declared bound of every |entry|, public."""
        return float(self.batch.bound)

    @property
    def T(self) -> EncryptedMatrices:  # noqa: N802 - as numpy has it
        """The transposed matrices: the same ciphertexts, read the other way."""
        return EncryptedMatrices(self.batch.transposed(), self.count, self.cols, self.rows)


def _check_shapes(left: EncryptedMatrices, right: EncryptedMatrices) -> None:
    if left.cols != right.rows:
        raise ShapeError(f"cannot multiply {left.rows} x {left.cols} by {right.rows} x {right.cols} matrices")
    if left.count != right.count:
        raise ShapeError(f"{left.count} matrices on the left, {right.count} on the right: they go in pairs")


class BatchProduct:
    """Products of batches of encrypted matrices of up to d x d.

    Entries are real or complex. Real matrices take as much room as complex ones: a complex product of A + iA' and
    B + iB' mixes all four. What does fit two real products in one: a shared real factor, (A + iA')B = AB + iA'B;
    and their sum, the real part of (A + iA')(B - iB') = AB + A'B' + i(A'B - AB').

    Args:
        context: the parameters' context.
        dim: d, a power of two from 2 to N/2, at most 1024. Smaller matrices are padded with zeros.
        threads: threads for everything.

    Raises:
        ShapeError: d is something else.
    """

    def __init__(self, context: Context, dim: int, *, threads: int = 1) -> None:
        self.context = context
        self.threads = threads
        if whole(dim, "d, the size of matrices,", -(1 << 63)) < 0:
            raise ShapeError(f"matrices must be d x d with d a power of two, not d = {dim}")
        self._native = _native.BatchMatmul(context, dim)
        # The last kernel prepared with some keys: as long as they live, they stay where its device has put them.
        self._prepared: WeakKeyDictionary[BatchKeys, Handle] = WeakKeyDictionary()

    @property
    def dim(self) -> int:
        return int(self._native.dim)

    @property
    def capacity(self) -> int:
        """Matrices in a batch, N/(2d)."""
        return int(self._native.capacity)

    @property
    def required_keys(self) -> list[int]:
        """The d - 1 Galois elements that products and conversions need; products need a relinearisation key too."""
        return list(self._native.required_keys)

    # ---- client ----

    def make_keys(self, client: Client, secret_key: SecretKey, level: int | None = None) -> BatchKeys:
        """Evaluation keys for operands of up to `level` (default: the highest). See `cost` for their size."""
        galois = GaloisKeys()
        for element in self.required_keys:
            galois.insert(client.galois_key(secret_key, element, level, self.threads))
        return BatchKeys(galois, client.relin_key(secret_key, level, self.threads))

    def encrypt(
        self,
        client: Client,
        key: SecretKey | PublicKey,
        matrices: npt.ArrayLike,
        *,
        by: Lines = "columns",
        scale: float | None = None,
        level: int | None = None,
        bound: float = 1.0,
    ) -> EncryptedMatrices:
        """Encrypts up to `capacity` matrices of one shape.

        Args:
            matrices: array (count, rows, cols), or (rows, cols) for one; real or complex.
            by: "columns" for left operands, "rows" for right ones. The other way works too, and costs a
                conversion in each product.
            scale: default 2^log_scale of the parameters. A product has scale left * right / dropped prime.
            level: default the highest. Products are much cheaper at low levels; level 1 is enough for one.
            bound: declared bound of |entry|, public: not read off the data.

        Raises:
            ShapeError: another number of dimensions, too many matrices, or more than d rows or columns.
            ValueError: an entry is above the bound, or not finite.
        """
        z = complex_numbers(matrices, "entries of matrices")
        if z.ndim == 2:
            z = z[None]
        if z.ndim != 3:
            raise ShapeError(f"expected an array (count, rows, cols), not of shape {z.shape}")
        count, rows, cols = z.shape
        if count > self.capacity:
            raise ShapeError(
                f"{count} matrices do not fit a batch of {self.capacity}: split them over several batches, "
                "or use a larger ring"
            )
        if max(rows, cols) > self.dim:
            raise ShapeError(f"{rows} x {cols} matrices do not fit {self.dim} x {self.dim}: use a larger dim")
        if not np.all(np.isfinite(z)):
            raise RingforgeValueError("an entry is not a finite number")
        padded = np.zeros((max(count, 1), self.dim, self.dim), dtype=np.complex128)
        padded[:count, :rows, :cols] = z
        p = self.context.params
        batch = self._native.encrypt(
            client,
            key,
            padded.reshape(-1),
            native_lines(by),
            2.0**p.log_scale if scale is None else scale,
            p.max_level if level is None else level,
            bound,
            self.threads,
        )
        return EncryptedMatrices(batch, count, rows, cols)

    def decrypt(
        self,
        client: Client,
        secret_key: SecretKey,
        matrices: EncryptedMatrices,
        *,
        share_bits: float | None = None,
        queries: int = 1,
    ) -> ComplexArray:
        """Complex array (count, rows, cols).

        With `share_bits`, calibrated noise is added first, so that the result may be shown to others
        (docs/security.md); `queries` counts the batches whose results are shown.

        Raises:
            MismatchError: the matrices were encrypted under another key.
            LevelError: no room for the noise.
        """
        batch = matrices.batch
        if share_bits is None:
            values = self._native.decrypt(client, secret_key, batch, self.threads)
        else:
            shown = queries * len(batch)
            plain = [client.decrypt_to_share(batch.line(j), secret_key, share_bits, shown) for j in range(len(batch))]
            values = self._native.decode(plain, batch.by, self.threads)
        full = np.asarray(values).reshape(self.capacity, self.dim, self.dim)
        return full[: matrices.count, : matrices.rows, : matrices.cols].copy()

    # ---- server ----

    def multiply(
        self, left: EncryptedMatrices, right: EncryptedMatrices, keys: BatchKeys, *, by: Lines = "columns"
    ) -> tuple[EncryptedMatrices, BatchMatmulReport]:
        """left[i] @ right[i] for all i, one level lower, with a report of the work done.

        Args:
            left, right: of one level; best by columns and by rows, see `encrypt`.
            by: form of the result, either at no cost: "columns" to use it as a left operand next, "rows" as a
                right one.

        Raises:
            ShapeError: shapes do not chain, or the numbers of matrices differ.
            LevelError: level 0, or unequal levels (see `drop_to_level`).
            MismatchError: operands or keys belong to different secret keys or parameters.
            MissingKeyError: a Galois key is missing.
            ValueError: results of d * left.bound * right.bound may not fit the level below.
        """
        _check_shapes(left, right)
        batch, report = self._native.multiply(
            left.batch, right.batch, keys.galois, keys.relin, native_lines(by), self.threads
        )
        return EncryptedMatrices(batch, left.count, left.rows, right.cols), report

    def multiply_all(
        self,
        pairs: Iterable[tuple[EncryptedMatrices, EncryptedMatrices]],
        keys: BatchKeys,
        *,
        by: Lines = "columns",
        device: Device | str = "cpu",
        progress: Progress | None = None,
    ) -> tuple[list[EncryptedMatrices], Report]:
        """The products of many pairs of batches, each as by `multiply`, with the same words on every device.

        A device with workers (`ray:ADDRESS`, docs/scale.md) computes several at a time. Keys go to the workers once and
        stay there as long as `keys` and this object live, a batch once for each call, in however many pairs it is.
        Several threads may call it at once.

        Args:
            pairs: (left, right), at least one; all operands of one level.
            by: form of all results.
            device: a name, or a device that was opened before: for several calls, open one of workers once.
            progress: called with the fraction done, 0 ... 1; Error "cancelled" where it returns False.

        Returns:
            the products in the order of the pairs, and what they took together.

        Raises:
            ShapeError: no pairs, or of one the shapes do not chain or the numbers of matrices differ.
            LevelError: level 0, unequal levels (see `drop_to_level`), or keys of a lower level.
            MismatchError: operands or keys belong to different secret keys or parameters.
            MissingKeyError: a Galois key is missing.
            ValueError: there is no such form, or results of d * left.bound * right.bound may not fit the level below.
            ParameterError: there is no such device, or it does not run such products.
            Error: the run was cancelled, or workers failed.
        """
        given = list(pairs)
        if not given:
            raise ShapeError("there are no pairs of batches to multiply: give one at least")
        for left, right in given:
            _check_shapes(left, right)
        found = {id(x.batch): x.batch for pair in given for x in pair}
        batches, numbers = list(found.values()), {name: k for k, name in enumerate(found)}
        kernel = BatchKernel(
            self.context,
            self.dim,
            batches[0].level,
            tuple(map(lines_of, batches)),
            tuple((numbers[id(left.batch)], numbers[id(right.batch)]) for left, right in given),
            by,
        )
        where = open_device(device) if isinstance(device, str) else device
        handle = where.prepare(kernel, keys.key_set, threads=self.threads)
        self._prepared[keys] = handle
        outputs, report = where.run(handle, batches, threads=self.threads, progress=progress)
        products = [
            EncryptedMatrices(where.download(batch), left.count, left.rows, right.cols)
            for batch, (left, right) in zip(outputs, given, strict=True)
        ]
        return products, report

    def convert(
        self, matrices: EncryptedMatrices, by: Lines, keys: BatchKeys
    ) -> tuple[EncryptedMatrices, BatchMatmulReport]:
        """The same matrices by other lines, with d - 1 key switches and no level. Raises as `multiply`."""
        batch, report = self._native.convert(matrices.batch, native_lines(by), keys.galois, self.threads)
        return EncryptedMatrices(batch, matrices.count, matrices.rows, matrices.cols), report

    def drop_to_level(self, matrices: EncryptedMatrices, level: int) -> EncryptedMatrices:
        """Drops primes without division. Raises LevelError when `level` is above the matrices'."""
        batch = self._native.drop_to_level(matrices.batch, level)
        return EncryptedMatrices(batch, matrices.count, matrices.rows, matrices.cols)

    def cost(self, level: int, conversions: int = 0) -> BatchMatmulCost:
        """Predicted operations, keys and bytes of a product at `level`, with so many operands to convert first."""
        return self._native.cost(level, conversions, self.threads)

    def error_bound(self, matrices: EncryptedMatrices) -> float:
        """Predicted bound of |decrypted entry - exact entry| (probability 1 - 2^-40)."""
        return float(self._native.error_bound(matrices.batch))

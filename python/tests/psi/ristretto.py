# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The OPRF once more, by Python's integers: RFC 9496 (ristretto255), RFC 9380 and RFC 9497, as their texts read.

It shares nothing with the library but the hash, is slow, and takes time that depends on secrets: for tests only.
"""

from __future__ import annotations

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)

#: Extended coordinates X, Y, Z, T of the curve -x^2 + y^2 = 1 + d x^2 y^2: x = X/Z, y = Y/Z, xy = T/Z.
Point = tuple[int, int, int, int]

IDENTITY: Point = (0, 1, 1, 0)


def magnitude(x: int) -> int:
    """The one of x and -x that is not negative, which means even (section 3.1 of RFC 9496)."""
    return P - x if x & 1 else x


def sqrt_ratio(u: int, v: int) -> tuple[bool, int]:
    """Section 4.2: whether u/v is a square, and the root of u/v, or of SQRT_M1 * u/v if it is none."""
    if v == 0:
        return u == 0, 0
    ratio = u * pow(v, -1, P) % P
    square = ratio == 0 or pow(ratio, (P - 1) // 2, P) == 1
    if not square:
        ratio = ratio * SQRT_M1 % P
    root = pow(ratio, (P + 3) // 8, P)
    if root * root % P != ratio:
        root = root * SQRT_M1 % P
    assert root * root % P == ratio
    return square, magnitude(root)


SQRT_AD_MINUS_ONE = P - sqrt_ratio((-D - 1) % P, 1)[1]
INVSQRT_A_MINUS_D = sqrt_ratio(1, (-1 - D) % P)[1]


def decode(data: bytes) -> Point | None:
    """Section 4.3.1; None for what is no encoding."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or s & 1:
        return None
    u1, u2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    square, root = sqrt_ratio(1, v * u2 * u2 % P)
    dx = root * u2 % P
    dy = root * dx * v % P
    x, y = magnitude(2 * s * dx % P), u1 * dy % P
    if not square or x * y % P & 1 or y == 0:
        return None
    return x, y, 1, x * y % P


def encode(point: Point) -> bytes:
    """Section 4.3.2."""
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    root = sqrt_ratio(1, u1 * u2 * u2 % P)[1]
    d1, d2 = root * u1 % P, root * u2 % P
    z_inverse = d1 * d2 * t % P
    if t * z_inverse % P & 1:
        x, y = y * SQRT_M1 % P, x * SQRT_M1 % P
        last = d1 * INVSQRT_A_MINUS_D % P
    else:
        last = d2
    if x * z_inverse % P & 1:
        y = -y % P
    return magnitude(last * (z - y) % P).to_bytes(32, "little")


def add(a: Point, b: Point) -> Point:
    """The complete addition of Hisil, Wong, Carter and Dawson (2008), section 3.1, for a = -1."""
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    e = (x1 * y2 + y1 * x2) % P
    f, g = (z1 * z2 - D * t1 * t2) % P, (z1 * z2 + D * t1 * t2) % P
    h = (y1 * y2 + x1 * x2) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar: int, point: Point) -> Point:
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def elligator(data: bytes) -> Point:
    """MAP of section 4.3.4, on 32 bytes whose highest bit is ignored."""
    t = int.from_bytes(data, "little") % 2**255 % P
    r = SQRT_M1 * t * t % P
    u = (r + 1) * (1 - D * D) % P
    v = (-1 - r * D) * (r + D) % P
    square, s = sqrt_ratio(u, v)
    c = P - 1
    if not square:
        s, c = -magnitude(s * t % P) % P, r
    n = (c * (r - 1) * (D - 1) ** 2 - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def expand(message: bytes, dst: bytes, length: int) -> bytes:
    """expand_message_xmd with SHA-512 (RFC 9380, section 5.3.1)."""
    suffix = dst + bytes([len(dst)])
    b0 = hashlib.sha512(bytes(128) + message + length.to_bytes(2, "big") + b"\0" + suffix).digest()
    blocks = [hashlib.sha512(b0 + b"\1" + suffix).digest()]
    while 64 * len(blocks) < length:
        mixed = bytes(p ^ q for p, q in zip(b0, blocks[-1], strict=True))
        blocks.append(hashlib.sha512(mixed + bytes([len(blocks) + 1]) + suffix).digest())
    return b"".join(blocks)[:length]


CONTEXT = b"OPRFV1-" + bytes([0]) + b"-ristretto255-SHA512"


def hash_to_group(message: bytes) -> Point:
    uniform = expand(message, b"HashToGroup-" + CONTEXT, 64)
    return add(elligator(uniform[:32]), elligator(uniform[32:]))


def derive_key(seed: bytes, info: bytes) -> int:
    """DeriveKeyPair of RFC 9497, section 3.2.1."""
    for counter in range(256):
        message = seed + len(info).to_bytes(2, "big") + info + bytes([counter])
        key = int.from_bytes(expand(message, b"DeriveKeyPair" + CONTEXT, 64), "little") % ORDER
        if key:
            return key
    raise AssertionError("no key")


def prf(key: int, message: bytes) -> bytes:
    """Evaluate of RFC 9497, section 3.3.1."""
    element = encode(multiply(key, hash_to_group(message)))
    framed = len(message).to_bytes(2, "big") + message + (32).to_bytes(2, "big") + element
    return hashlib.sha512(framed + b"Finalize").digest()

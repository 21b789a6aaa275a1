// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"math/rand"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// transform times one limb's number-theoretic transform, fully reduced, out of place.
func transform(r request, res *result) error {
	n := 1 << r.LogN
	primes := r.Q
	if len(primes) == 0 {
		generator := ring.NewNTTFriendlyPrimesGenerator(uint64(r.PrimeBits), uint64(2*n))
		prime, err := generator.NextDownstreamPrime()
		if err != nil {
			return err
		}
		primes = []uint64{prime}
	}
	whole, err := ring.NewRing(n, primes[:1])
	if err != nil {
		return err
	}
	limb := whole.SubRings[0]
	random := rand.New(rand.NewSource(r.Seed))
	plain, image, back := make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for i := range plain {
		plain[i] = random.Uint64() % limb.Modulus
	}
	limb.NTT(plain, image)

	operation := func() error { limb.NTT(plain, image); return nil }
	if r.Case == "intt" {
		operation = func() error { limb.INTT(image, back); return nil }
	}
	t, err := measure(r.Budget, 3, operation)
	if err != nil {
		return err
	}
	t.store(res)
	res.Limbs = 1
	res.Error = float64(wrongShift(limb, plain, image))
	return nil
}

// wrongShift multiplies the polynomial by X in the transformed domain and counts the coefficients that do not
// come back moved up by one, the last one negated.
func wrongShift(limb *ring.SubRing, plain, image []uint64) int {
	n := len(plain)
	x, product := make([]uint64, n), make([]uint64, n)
	x[1] = 1
	limb.NTT(x, x)
	limb.MulCoeffsBarrett(image, x, product)
	limb.INTT(product, product)
	wrong := 0
	for i := range plain {
		want := (limb.Modulus - plain[n-1]) % limb.Modulus
		if i > 0 {
			want = plain[i-1]
		}
		if product[i] != want {
			wrong++
		}
	}
	return wrong
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"math/rand"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// bench holds what every case on ciphertexts needs: keys, tools, one encrypted message and its values.
type bench struct {
	request
	params    ckks.Parameters
	level     int
	random    *rand.Rand
	keys      *rlwe.KeyGenerator
	secret    *rlwe.SecretKey
	encoder   *ckks.Encoder
	encryptor *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	values    []float64
	input     *rlwe.Ciphertext
}

func newBench(r request) (*bench, error) {
	literal := ckks.ParametersLiteral{LogN: r.LogN, LogDefaultScale: r.LogScale}
	var err error
	if literal.Q, literal.LogQ, literal.P, literal.LogP, err = r.primes(); err != nil {
		return nil, err
	}
	params, err := ckks.NewParametersFromLiteral(literal)
	if err != nil {
		return nil, err
	}
	b := &bench{request: r, params: params, random: rand.New(rand.NewSource(r.Seed))}
	if b.level, err = r.chosenLevel(params.MaxLevel()); err != nil {
		return nil, err
	}
	b.keys = ckks.NewKeyGenerator(params)
	b.secret = b.keys.GenSecretKeyNew()
	b.encoder = ckks.NewEncoder(params)
	b.encryptor = ckks.NewEncryptor(params, b.secret)
	b.decryptor = ckks.NewDecryptor(params, b.secret)
	b.values = b.draw()
	b.input, err = b.encrypt(b.values, params.DefaultScale())
	return b, err
}

// draw returns one value in [-1, 1) a slot.
func (b *bench) draw() []float64 {
	values := make([]float64, b.params.MaxSlots())
	for i := range values {
		values[i] = 2*b.random.Float64() - 1
	}
	return values
}

// nextScale, as one factor's scale, makes a rescaled product keep the other factor's scale.
func (b *bench) nextScale() rlwe.Scale { return rlwe.NewScale(b.params.Q()[b.level]) }

func (b *bench) encrypt(values []float64, scale rlwe.Scale) (*rlwe.Ciphertext, error) {
	plaintext := ckks.NewPlaintext(b.params, b.level)
	plaintext.Scale = scale
	if err := b.encoder.Encode(values, plaintext); err != nil {
		return nil, err
	}
	return b.encryptor.EncryptNew(plaintext)
}

// check decrypts and returns the largest difference from the expected values.
func (b *bench) check(ciphertext *rlwe.Ciphertext, want []float64) (float64, error) {
	got := make([]float64, len(want))
	if err := b.encoder.Decode(b.decryptor.DecryptNew(ciphertext), got); err != nil {
		return 0, err
	}
	return largestDifference(got, want), nil
}

func (b *bench) fresh() *rlwe.Ciphertext { return ckks.NewCiphertext(b.params, 1, b.level) }

// evaluator holds keys for the given Galois elements and no others.
func (b *bench) evaluator(elements []uint64) *ckks.Evaluator {
	return ckks.NewEvaluator(b.params, rlwe.NewMemEvaluationKeySet(nil, b.keys.GenGaloisKeysNew(elements, b.secret)...))
}

// rotated moves values k places down, as a rotation by k does.
func rotated(values []float64, k int) []float64 {
	n := len(values)
	moved := make([]float64, n)
	for i := range moved {
		moved[i] = values[((i+k)%n+n)%n]
	}
	return moved
}

func scheme(r request, res *result) error {
	b, err := newBench(r)
	if err != nil {
		return err
	}
	res.Limbs, res.Special = b.level+1, b.params.PCount()
	switch r.Case {
	case "rotate":
		return b.rotate(res)
	case "rotate_hoisted":
		return b.rotateHoisted(res)
	case "multiply":
		return b.multiply(res)
	case "linear_transform":
		return b.linearTransform(res)
	case "matmul_naive":
		return b.matmulNaive(res)
	default:
		return b.rotationsNaive(res)
	}
}

func (b *bench) rotate(res *result) error {
	k := b.rotations(1)[0]
	evaluator := b.evaluator([]uint64{b.params.GaloisElement(k)})
	output := b.fresh()
	t, err := measure(b.Budget, 3, func() error { return evaluator.Rotate(b.input, k, output) })
	if err != nil {
		return err
	}
	t.store(res)
	res.Error, err = b.check(output, rotated(b.values, k))
	return err
}

// rotateHoisted shares one decomposition among the rotations and reports the time of one of them.
func (b *bench) rotateHoisted(res *result) error {
	rotations := b.rotations(1, 2, 3, 4, 5, 6, 7, 8)
	evaluator := b.evaluator(b.params.GaloisElements(rotations))
	outputs := make(map[int]*rlwe.Ciphertext, len(rotations))
	for _, k := range rotations {
		outputs[k] = b.fresh()
	}
	t, err := measure(b.Budget, 3, func() error { return evaluator.RotateHoisted(b.input, rotations, outputs) })
	if err != nil {
		return err
	}
	t.each(len(rotations)).store(res)
	for _, k := range rotations {
		worst, err := b.check(outputs[k], rotated(b.values, k))
		if err != nil {
			return err
		}
		res.Error = max(res.Error, worst)
	}
	return nil
}

// multiply times a product of two ciphertexts with its relinearisation and rescaling.
func (b *bench) multiply(res *result) error {
	evaluator := ckks.NewEvaluator(b.params, rlwe.NewMemEvaluationKeySet(b.keys.GenRelinearizationKeyNew(b.secret)))
	values := b.draw()
	other, err := b.encrypt(values, b.nextScale())
	if err != nil {
		return err
	}
	product, output := b.fresh(), b.fresh()
	t, err := measure(b.Budget, 3, func() error {
		if err := evaluator.MulRelin(b.input, other, product); err != nil {
			return err
		}
		return evaluator.Rescale(product, output)
	})
	if err != nil {
		return err
	}
	t.store(res)
	for i := range values {
		values[i] *= b.values[i]
	}
	res.Error, err = b.check(output, values)
	return err
}

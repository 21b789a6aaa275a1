// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"fmt"
	"math/rand"

	"github.com/tuneinsight/lattigo/v6/circuits/bgv/lintrans"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// integers is the bench of BFV and BGV, which Lattigo has as one scheme with two products.
type integers struct {
	request
	params    bgv.Parameters
	level     int
	random    *rand.Rand
	keys      *rlwe.KeyGenerator
	secret    *rlwe.SecretKey
	encoder   *bgv.Encoder
	decryptor *rlwe.Decryptor
	values    []uint64
	input     *rlwe.Ciphertext
}

func newIntegers(r request) (*integers, error) {
	if r.PlaintextModulus == 0 {
		return nil, fmt.Errorf("needs a plaintext_modulus")
	}
	literal := bgv.ParametersLiteral{LogN: r.LogN, PlaintextModulus: r.PlaintextModulus}
	var err error
	if literal.Q, literal.LogQ, literal.P, literal.LogP, err = r.primes(); err != nil {
		return nil, err
	}
	params, err := bgv.NewParametersFromLiteral(literal)
	if err != nil {
		return nil, err
	}
	b := &integers{request: r, params: params, random: rand.New(rand.NewSource(r.Seed))}
	if b.level, err = r.chosenLevel(params.MaxLevel()); err != nil {
		return nil, err
	}
	b.keys = bgv.NewKeyGenerator(params)
	b.secret = b.keys.GenSecretKeyNew()
	b.encoder = bgv.NewEncoder(params)
	b.decryptor = bgv.NewDecryptor(params, b.secret)
	b.values = b.draw()
	b.input, err = b.encrypt(b.values)
	return b, err
}

func (b *integers) draw() []uint64 {
	values := make([]uint64, b.params.MaxSlots())
	for i := range values {
		values[i] = b.random.Uint64() % b.PlaintextModulus
	}
	return values
}

func (b *integers) plaintext(values []uint64) (*rlwe.Plaintext, error) {
	plaintext := bgv.NewPlaintext(b.params, b.level)
	return plaintext, b.encoder.Encode(values, plaintext)
}

func (b *integers) encrypt(values []uint64) (*rlwe.Ciphertext, error) {
	plaintext, err := b.plaintext(values)
	if err != nil {
		return nil, err
	}
	return bgv.NewEncryptor(b.params, b.secret).EncryptNew(plaintext)
}

// wrong counts the slots that do not decrypt to what is expected.
func (b *integers) wrong(ciphertext *rlwe.Ciphertext, want []uint64) (float64, error) {
	got := make([]uint64, len(want))
	if err := b.encoder.Decode(b.decryptor.DecryptNew(ciphertext), got); err != nil {
		return 0, err
	}
	count := 0
	for i := range want {
		if got[i] != want[i] {
			count++
		}
	}
	return float64(count), nil
}

func (b *integers) fresh() *rlwe.Ciphertext { return bgv.NewCiphertext(b.params, 1, b.level) }

func (b *integers) evaluator(elements []uint64) *bgv.Evaluator {
	keys := rlwe.NewMemEvaluationKeySet(nil, b.keys.GenGaloisKeysNew(elements, b.secret)...)
	return bgv.NewEvaluator(b.params, keys, true)
}

// turned moves both rows k places down.
func turned(values []uint64, k int) []uint64 {
	half := len(values) / 2
	moved := make([]uint64, len(values))
	for i := 0; i < half; i++ {
		from := ((i+k)%half + half) % half
		moved[i], moved[half+i] = values[from], values[half+from]
	}
	return moved
}

func (b *integers) times(x, y []uint64) []uint64 {
	product := make([]uint64, len(x))
	for i := range x {
		product[i] = x[i] * y[i] % b.PlaintextModulus
	}
	return product
}

func integerScheme(r request, res *result) error {
	b, err := newIntegers(r)
	if err != nil {
		return err
	}
	res.Limbs, res.Special = b.level+1, b.params.PCount()
	switch r.Case {
	case "bfv_rotate":
		return b.rotate(res)
	case "bfv_rotate_hoisted":
		return b.rotateHoisted(res)
	case "bfv_multiply":
		return b.multiply(res, true)
	case "bgv_multiply":
		return b.multiply(res, false)
	case "bfv_multiply_plain":
		return b.multiplyPlain(res)
	case "bfv_encode":
		return b.encode(res)
	default:
		return b.affine(res)
	}
}

func (b *integers) rotate(res *result) error {
	k := b.rotations(1)[0]
	evaluator := b.evaluator([]uint64{b.params.GaloisElementForColRotation(k)})
	output := b.fresh()
	t, err := measure(b.Budget, 3, func() error { return evaluator.RotateColumns(b.input, k, output) })
	if err != nil {
		return err
	}
	t.store(res)
	res.Error, err = b.wrong(output, turned(b.values, k))
	return err
}

// rotateHoisted shares one decomposition among the rotations, as Lattigo's CKKS does, and reports the time of one of
// them.
func (b *integers) rotateHoisted(res *result) error {
	rotations := b.rotations(1, 2, 3, 4, 5, 6, 7, 8)
	evaluator := b.evaluator(b.params.GaloisElements(rotations))
	outputs := make(map[int]*rlwe.Ciphertext, len(rotations))
	for _, k := range rotations {
		outputs[k] = b.fresh()
	}
	levelP, digits := b.params.MaxLevelP(), evaluator.GetBuffDecompQP()
	t, err := measure(b.Budget, 3, func() error {
		evaluator.DecomposeNTT(b.level, levelP, levelP+1, b.input.Value[1], b.input.IsNTT, digits)
		for _, k := range rotations {
			element := b.params.GaloisElementForColRotation(k)
			if err := evaluator.AutomorphismHoisted(b.level, b.input, digits, element, outputs[k]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.each(len(rotations)).store(res)
	for _, k := range rotations {
		wrong, err := b.wrong(outputs[k], turned(b.values, k))
		if err != nil {
			return err
		}
		res.Error += wrong
	}
	return nil
}

// multiply times a product of two ciphertexts with its relinearisation: the scale-invariant one, or that of BGV with
// the division by a prime that goes with it.
func (b *integers) multiply(res *result, invariant bool) error {
	keys := rlwe.NewMemEvaluationKeySet(b.keys.GenRelinearizationKeyNew(b.secret))
	evaluator := bgv.NewEvaluator(b.params, keys, invariant)
	values := b.draw()
	other, err := b.encrypt(values)
	if err != nil {
		return err
	}
	product := b.fresh()
	output := product
	if !invariant {
		output = b.fresh()
	}
	t, err := measure(b.Budget, 3, func() error {
		if err := evaluator.MulRelin(b.input, other, product); err != nil || invariant {
			return err
		}
		return evaluator.Rescale(product, output)
	})
	if err != nil {
		return err
	}
	t.store(res)
	res.Error, err = b.wrong(output, b.times(b.values, values))
	return err
}

func (b *integers) multiplyPlain(res *result) error {
	evaluator := bgv.NewEvaluator(b.params, nil, true)
	values := b.draw()
	plaintext, err := b.plaintext(values)
	if err != nil {
		return err
	}
	output := b.fresh()
	t, err := measure(b.Budget, 3, func() error { return evaluator.Mul(b.input, plaintext, output) })
	if err != nil {
		return err
	}
	t.store(res)
	res.Error, err = b.wrong(output, b.times(b.values, values))
	return err
}

func (b *integers) encode(res *result) error {
	values := b.draw()
	plaintext := bgv.NewPlaintext(b.params, b.level)
	t, err := measure(b.Budget, 3, func() error { return b.encoder.Encode(values, plaintext) })
	if err != nil {
		return err
	}
	t.store(res)
	got := make([]uint64, len(values))
	if err := b.encoder.Decode(plaintext, got); err != nil {
		return err
	}
	for i := range values {
		if got[i] != values[i] {
			res.Error++
		}
	}
	return nil
}

// affine times the sums over k of diagonal k times the message rotated by k, and by k + 1: two outputs of one set of
// encoded diagonals, the second from the message rotated once. Encoding them is apart.
func (b *integers) affine(res *result) error {
	half := b.params.MaxSlots() / 2
	if len(b.Diagonals) == 0 {
		return fmt.Errorf("needs a list of diagonals")
	}
	diagonals := make(lintrans.Diagonals[uint64], len(b.Diagonals))
	next := turned(b.values, 1)
	want := [2][]uint64{make([]uint64, 2*half), make([]uint64, 2*half)}
	for _, d := range b.Diagonals {
		if d < 0 || d >= half || diagonals[d] != nil {
			return fmt.Errorf("diagonal %d is listed twice, or outside [0, %d)", d, half)
		}
		diagonals[d] = b.draw()
		for l, message := range [2][]uint64{b.values, next} {
			for i, value := range b.times(diagonals[d], turned(message, d)) {
				want[l][i] = (want[l][i] + value) % b.PlaintextModulus
			}
		}
	}
	shape := lintrans.Parameters{
		DiagonalsIndexList:        b.Diagonals,
		LevelQ:                    b.level,
		LevelP:                    b.params.MaxLevelP(),
		Scale:                     b.params.DefaultScale(),
		LogDimensions:             b.params.LogMaxDimensions(),
		LogBabyStepGiantStepRatio: *b.LogBSGS,
	}
	matrix := lintrans.NewLinearTransformation(b.params, shape)
	encoding, err := measure(b.Budget/4, 1, func() error { return lintrans.Encode(b.encoder, diagonals, matrix) })
	if err != nil {
		return err
	}
	res.EncodeSeconds = &encoding.seconds
	elements := append(matrix.GaloisElements(b.params), b.params.GaloisElementForColRotation(1))
	evaluator := b.evaluator(elements)
	transformer := lintrans.NewEvaluator(evaluator)
	rotated, outputs := b.fresh(), [2]*rlwe.Ciphertext{b.fresh(), b.fresh()}
	t, err := measure(b.Budget, 1, func() error {
		if err := transformer.Evaluate(b.input, matrix, outputs[0]); err != nil {
			return err
		}
		if err := evaluator.RotateColumns(b.input, 1, rotated); err != nil {
			return err
		}
		return transformer.Evaluate(rotated, matrix, outputs[1])
	})
	if err != nil {
		return err
	}
	t.store(res)
	res.LogBSGS = b.LogBSGS
	res.Parts = map[string]float64{"encode_cpu": encoding.cpu, "keys": float64(len(elements))}
	for l, output := range outputs {
		wrong, err := b.wrong(output, want[l])
		if err != nil {
			return err
		}
		res.Error += wrong
	}
	return nil
}

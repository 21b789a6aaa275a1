// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"fmt"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/lintrans"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// indices are the requested diagonals as slot counts, each once.
func (b *bench) indices() ([]int, error) {
	slots := b.params.MaxSlots()
	seen := make(map[int]bool, len(b.Diagonals))
	indices := make([]int, len(b.Diagonals))
	for i, d := range b.Diagonals {
		indices[i] = (d%slots + slots) % slots
		if seen[indices[i]] {
			return nil, fmt.Errorf("diagonal %d is listed twice (indices count modulo %d)", d, slots)
		}
		seen[indices[i]] = true
	}
	if len(indices) == 0 {
		return nil, fmt.Errorf("needs a list of diagonals")
	}
	return indices, nil
}

// accumulate adds diagonal times the message rotated by d.
func (b *bench) accumulate(sum, diagonal []float64, d int) {
	for i, value := range rotated(b.values, d) {
		sum[i] += diagonal[i] * value
	}
}

// finish stores the time of the rescaling that follows and the error after it.
func (b *bench) finish(evaluator *ckks.Evaluator, sum *rlwe.Ciphertext, want []float64, res *result) error {
	output := b.fresh()
	t, err := measure(b.Budget/10, 3, func() error { return evaluator.Rescale(sum, output) })
	if err != nil {
		return err
	}
	res.RescaleSeconds, res.RescaleCPU = &t.seconds, &t.cpu
	res.Error, err = b.check(output, want)
	return err
}

// linearTransform times Lattigo's own evaluator for the sum of diagonals times rotations, before the rescaling.
func (b *bench) linearTransform(res *result) error {
	indices, err := b.indices()
	if err != nil {
		return err
	}
	diagonals := make(lintrans.Diagonals[float64], len(indices))
	want := make([]float64, b.params.MaxSlots())
	for _, d := range indices {
		diagonals[d] = b.draw()
		b.accumulate(want, diagonals[d], d)
	}
	shape := lintrans.Parameters{
		DiagonalsIndexList:        indices,
		LevelQ:                    b.level,
		LevelP:                    b.params.MaxLevelP(),
		Scale:                     b.nextScale(),
		LogDimensions:             b.params.LogMaxDimensions(),
		LogBabyStepGiantStepRatio: *b.LogBSGS,
	}
	matrix := lintrans.NewTransformation(b.params, shape)
	encoding, err := measure(b.Budget/4, 1, func() error { return lintrans.Encode(b.encoder, diagonals, matrix) })
	if err != nil {
		return err
	}
	res.EncodeSeconds = &encoding.seconds

	evaluator := b.evaluator(lintrans.GaloisElements(b.params, shape))
	transformer := lintrans.NewEvaluator(evaluator)
	output := b.fresh()
	t, err := measure(b.Budget, 3, func() error { return transformer.Evaluate(b.input, matrix, output) })
	if err != nil {
		return err
	}
	t.store(res)
	res.LogBSGS = b.LogBSGS
	return b.finish(evaluator, output, want, res)
}

// rotationsNaive times one rotation, one plaintext product and one addition for each diagonal, before the
// rescaling. Each diagonal has its own key, made outside the timed part, so that memory does not grow with
// their number.
func (b *bench) rotationsNaive(res *result) error {
	indices, err := b.indices()
	if err != nil {
		return err
	}
	want := make([]float64, b.params.MaxSlots())
	plaintext := ckks.NewPlaintext(b.params, b.level)
	plaintext.Scale = b.nextScale()
	turned, product, sum, next := b.fresh(), b.fresh(), b.fresh(), b.fresh()
	sum.Scale = b.input.Scale.Mul(plaintext.Scale)
	var total timing
	var encoding float64
	var evaluator *ckks.Evaluator
	for _, d := range indices {
		diagonal := b.draw()
		b.accumulate(want, diagonal, d)
		start := time.Now()
		if err := b.encoder.Encode(diagonal, plaintext); err != nil {
			return err
		}
		encoding += time.Since(start).Seconds()

		evaluator = b.evaluator([]uint64{b.params.GaloisElement(d)})
		t, err := measure(b.Budget/float64(len(indices)), 1, func() error {
			if err := evaluator.Rotate(b.input, d, turned); err != nil {
				return err
			}
			if err := evaluator.Mul(turned, plaintext, product); err != nil {
				return err
			}
			return evaluator.Add(sum, product, next)
		})
		if err != nil {
			return err
		}
		sum, next = next, sum
		total.seconds += t.seconds
		total.cpu += t.cpu
		if total.iterations == 0 || t.iterations < total.iterations {
			total.iterations = t.iterations
		}
	}
	total.store(res)
	res.EncodeSeconds = &encoding
	return b.finish(evaluator, sum, want, res)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"fmt"
	"runtime"
	"sort"
	"time"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// matmul runs the published method for products of encrypted matrices without any improvement: one rotation, one
// plaintext product and one addition for each diagonal, one relinearised product for each k. Keys and encoded
// diagonals are made outside the timed parts, each when it is needed, so that memory does not grow with their number.
type matmul struct {
	*bench
	base      *ckks.Evaluator // without keys; those with keys share its buffers
	relin     *ckks.Evaluator
	rotations [2]tally // with their plaintext product and addition, by step
	masks     [2]tally // a plaintext product and addition alone
	rescales  [3]tally
	products  tally
	keyed     tally
	encoded   tally
}

// tally collects the times of one operation, each run once.
type tally struct{ walls, cpus []float64 }

// time runs fn. The collector runs first, so that it does not have to during fn.
func (t *tally) time(fn func() error) error {
	runtime.GC()
	cpu, start := cpuSeconds(), time.Now()
	err := fn()
	t.walls = append(t.walls, time.Since(start).Seconds())
	t.cpus = append(t.cpus, cpuSeconds()-cpu)
	return err
}

func total(times []float64) float64 {
	sum := 0.0
	for _, taken := range times {
		sum += taken
	}
	return sum
}

// at is the same bench with ciphertexts of another level.
func (b *bench) at(level int) *bench {
	other := *b
	other.level = level
	return &other
}

func (b *bench) matmulNaive(res *result) error {
	if b.level < 3 {
		return fmt.Errorf("level is %d; a product of matrices takes three levels, give 3 or more", b.level)
	}
	p := &matmul{bench: b, base: ckks.NewEvaluator(b.params, nil)}
	key := rlwe.NewMemEvaluationKeySet(b.keys.GenRelinearizationKeyNew(b.secret))
	p.relin = p.base.WithKey(key)
	res.Parts, res.CPUParts = map[string]float64{}, map[string]float64{}
	if len(b.Shape) > 0 {
		if err := p.whole(res); err != nil {
			return err
		}
	} else if err := p.sample(res); err != nil {
		return err
	}
	for name, t := range map[string]*tally{
		"rotation_1": &p.rotations[0], "rotation_2": &p.rotations[1], "mask_1": &p.masks[0], "mask_2": &p.masks[1],
		"rescale_1": &p.rescales[0], "rescale_2": &p.rescales[1], "rescale_3": &p.rescales[2],
		"product": &p.products, "key": &p.keyed, "encode": &p.encoded,
	} {
		if len(t.walls) > 0 {
			res.Parts[name], res.CPUParts[name] = median(t.walls), median(t.cpus)
		}
	}
	encoding := total(p.encoded.walls)
	res.EncodeSeconds = &encoding
	return nil
}

// apply sums diagonals times rotations of the input and rescales. Step 0 or 1 of the method, one level each.
func (p *matmul) apply(step int, input *rlwe.Ciphertext, diagonals map[int][]float64) (*rlwe.Ciphertext, error) {
	b := p.at(p.level - step)
	order := make([]int, 0, len(diagonals))
	for d := range diagonals {
		order = append(order, d)
	}
	sort.Ints(order)
	plaintext := ckks.NewPlaintext(b.params, b.level)
	plaintext.Scale = b.nextScale()
	turned, sum, output := b.fresh(), b.fresh(), b.fresh()
	sum.Scale = input.Scale.Mul(plaintext.Scale)
	for _, d := range order {
		if err := p.encoded.time(func() error { return b.encoder.Encode(diagonals[d], plaintext) }); err != nil {
			return nil, err
		}
		if d == 0 {
			if err := p.masks[step].time(func() error { return p.base.MulThenAdd(input, plaintext, sum) }); err != nil {
				return nil, err
			}
			continue
		}
		var evaluator *ckks.Evaluator
		if err := p.keyed.time(func() error {
			key := b.keys.GenGaloisKeyNew(b.params.GaloisElement(d), b.secret)
			evaluator = p.base.WithKey(rlwe.NewMemEvaluationKeySet(nil, key))
			return nil
		}); err != nil {
			return nil, err
		}
		if err := p.rotations[step].time(func() error {
			if err := evaluator.Rotate(input, d, turned); err != nil {
				return err
			}
			return evaluator.MulThenAdd(turned, plaintext, sum)
		}); err != nil {
			return nil, err
		}
	}
	err := p.rescales[step].time(func() error { return p.base.Rescale(sum, output) })
	return output, err
}

// multiply adds a relinearised product to the sum.
func (p *matmul) multiply(left, right, sum *rlwe.Ciphertext) error {
	return p.products.time(func() error { return p.relin.MulRelinThenAdd(left, right, sum) })
}

// sum is an empty sum of products of the second step's results.
func (p *matmul) sum(left, right *rlwe.Ciphertext) *rlwe.Ciphertext {
	sum := p.at(p.level - 2).fresh()
	sum.Scale = left.Scale.Mul(right.Scale)
	return sum
}

// sample times each kind of operation at its level: the given rotations with random diagonals, and a few products.
// The reported time is that of a rotation of the first step.
func (p *matmul) sample(res *result) error {
	if len(p.Rotations) == 0 || len(p.SecondRotations) == 0 {
		return fmt.Errorf("needs a shape, or rotations and second_rotations")
	}
	for step, rotations := range [][]int{p.Rotations, p.SecondRotations} {
		b := p.at(p.level - step)
		input, err := b.encrypt(p.values, p.params.DefaultScale())
		if err != nil {
			return err
		}
		want := make([]float64, p.params.MaxSlots())
		diagonals := map[int][]float64{0: p.draw()}
		for _, k := range rotations {
			d := ((k % len(want)) + len(want)) % len(want)
			if diagonals[d] != nil {
				return fmt.Errorf("rotation %d is listed twice, or is none (they count modulo %d)", k, len(want))
			}
			diagonals[d] = p.draw()
		}
		for d, diagonal := range diagonals {
			p.accumulate(want, diagonal, d)
		}
		output, err := p.apply(step, input, diagonals)
		if err != nil {
			return err
		}
		worst, err := p.check(output, want)
		if err != nil {
			return err
		}
		res.Error = max(res.Error, worst)
	}
	if err := p.sampleProducts(res); err != nil {
		return err
	}
	t := &p.rotations[0]
	timing{median(t.walls), median(t.cpus), len(t.walls)}.store(res)
	return nil
}

func (p *matmul) sampleProducts(res *result) error {
	const runs = 5
	b := p.at(p.level - 2)
	input, err := b.encrypt(p.values, p.params.DefaultScale())
	if err != nil {
		return err
	}
	sum, output := p.sum(input, input), b.fresh()
	want := make([]float64, len(p.values))
	for run := 0; run < runs; run++ {
		if err := p.multiply(input, input, sum); err != nil {
			return err
		}
		if err := p.rescales[2].time(func() error { return p.base.Rescale(sum, output) }); err != nil {
			return err
		}
	}
	for i, value := range p.values {
		want[i] = runs * value * value
	}
	worst, err := p.check(output, want)
	res.Error = max(res.Error, worst)
	return err
}

// gather is the 0/1 matrix that fills a rows x cols matrix, columns one after the other, from the given slots.
func (p *matmul) gather(rows, cols int, source func(i, j int) int) map[int][]float64 {
	slots := p.params.MaxSlots()
	diagonals := map[int][]float64{}
	for j := 0; j < cols; j++ {
		for i := 0; i < rows; i++ {
			target := i + j*rows
			d := (source(i, j) - target + slots) % slots
			if diagonals[d] == nil {
				diagonals[d] = make([]float64, slots)
			}
			diagonals[d][target] = 1
		}
	}
	return diagonals
}

// matrix draws rows x cols entries and encrypts them.
func (p *matmul) matrix(rows, cols int) ([]float64, *rlwe.Ciphertext, error) {
	values := p.draw()
	for s := rows * cols; s < len(values); s++ {
		values[s] = 0
	}
	encrypted, err := p.encrypt(values, p.params.DefaultScale())
	return values, encrypted, err
}

// whole multiplies two encrypted random matrices and reports the sum of all timed parts.
func (p *matmul) whole(res *result) error {
	if len(p.Shape) != 3 || min(p.Shape[0], p.Shape[1], p.Shape[2]) < 1 {
		return fmt.Errorf("shape is %v; give three sizes of at least 1", p.Shape)
	}
	m, l, n := p.Shape[0], p.Shape[1], p.Shape[2]
	if need, slots := max(m*l, l*n, m*n), p.params.MaxSlots(); need > slots {
		return fmt.Errorf("shape %v needs %d slots, there are %d; raise log_n", p.Shape, need, slots)
	}
	valuesA, a, err := p.matrix(m, l)
	if err != nil {
		return err
	}
	valuesB, b, err := p.matrix(l, n)
	if err != nil {
		return err
	}
	sigma := p.gather(m, l, func(i, j int) int { return i + (i+j)%l*m })
	if a, err = p.apply(0, a, sigma); err != nil {
		return err
	}
	tau := p.gather(l, n, func(i, j int) int { return (i+j)%l + j*l })
	if b, err = p.apply(0, b, tau); err != nil {
		return err
	}
	var sum *rlwe.Ciphertext
	for k := 0; k < l; k++ {
		left, err := p.apply(1, a, p.gather(m, n, func(i, j int) int { return i + (j+k)%l*m }))
		if err != nil {
			return err
		}
		right, err := p.apply(1, b, p.gather(m, n, func(i, j int) int { return (i+k)%l + j*l }))
		if err != nil {
			return err
		}
		if sum == nil {
			sum = p.sum(left, right)
		}
		if err := p.multiply(left, right, sum); err != nil {
			return err
		}
	}
	output := p.at(p.level - 2).fresh()
	if err := p.rescales[2].time(func() error { return p.base.Rescale(sum, output) }); err != nil {
		return err
	}
	want := make([]float64, p.params.MaxSlots())
	for j := 0; j < n; j++ {
		for i := 0; i < m; i++ {
			for k := 0; k < l; k++ {
				want[i+j*m] += valuesA[i+k*m] * valuesB[k+j*l]
			}
		}
	}
	p.report(res)
	res.Error, err = p.check(output, want)
	return err
}

// report stores the sums of all timed parts.
func (p *matmul) report(res *result) {
	steps := [][]*tally{
		{&p.rotations[0], &p.masks[0], &p.rescales[0]},
		{&p.rotations[1], &p.masks[1], &p.rescales[1]},
		{&p.products, &p.rescales[2]},
	}
	sum := timing{iterations: 1}
	for i, name := range []string{"step_1", "step_2", "products"} {
		for _, t := range steps[i] {
			res.Parts[name] += total(t.walls)
			res.CPUParts[name] += total(t.cpus)
		}
		sum.seconds += res.Parts[name]
		sum.cpu += res.CPUParts[name]
	}
	res.Parts["rotations_1"] = float64(len(p.rotations[0].walls))
	res.Parts["rotations_2"] = float64(len(p.rotations[1].walls))
	sum.store(res)
}

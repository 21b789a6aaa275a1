// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

// Command lattigo times operations of the Lattigo library on one thread.
//
// It reads JSON requests from standard input, one after another, and prints one JSON result a line. A request
// that cannot be served ends the program with status 1 and a message on standard error.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// request says what to measure. Explicit primes win over the counts.
type request struct {
	Case      string   `json:"case"`
	LogN      int      `json:"log_n"`
	PrimeBits int      `json:"prime_bits"` // size of generated primes, 50 unless given
	Limbs     int      `json:"limbs"`      // how many primes of Q to generate
	Special   int      `json:"special"`    // how many primes of P to generate
	Q         []uint64 `json:"q"`
	P         []uint64 `json:"p"`
	Level     *int     `json:"level"`     // of the ciphertext, the highest unless given
	LogScale  int      `json:"log_scale"` // of the ciphertext, 40 unless given
	Rotations []int    `json:"rotations"`
	Diagonals []int    `json:"diagonals"`
	LogBSGS   *int     `json:"log_bsgs"` // log2 of baby over giant steps, 1 unless given, negative for none
	Budget    float64  `json:"budget_s"` // seconds of repeated runs, 1 unless given
	Seed      int64    `json:"seed"`     // of the messages; keys and noise always come from the system

	PlaintextModulus uint64 `json:"plaintext_modulus"` // of the cases bfv_* and bgv_*

	// Of matmul_naive: rotations one level lower, or m, l, n of a whole product.
	SecondRotations []int `json:"second_rotations"`
	Shape           []int `json:"shape"`
}

// result is one measurement. Times are seconds, of either clock a median.
type result struct {
	Case           string   `json:"case"`
	Seconds        float64  `json:"seconds"`
	CPUSeconds     float64  `json:"cpu_seconds"`
	Iterations     int      `json:"iterations"`
	EncodeSeconds  *float64 `json:"encode_seconds"`
	RescaleSeconds *float64 `json:"rescale_seconds"`
	RescaleCPU     *float64 `json:"rescale_cpu_seconds"`
	LogBSGS        *int     `json:"log_bsgs"` // of linear_transform and bfv_affine
	Peer           string   `json:"peer"`
	PeerVersion    string   `json:"peer_version"`
	GoVersion      string   `json:"go_version"`
	LogN           int      `json:"log_n"`
	Limbs          int      `json:"limbs"` // of the ciphertext that was worked on
	Special        int      `json:"special"`
	Error          float64  `json:"error"` // largest difference from the expected values, wrong slots of integers
	PeakMiB        float64  `json:"peak_mib"`

	// Of matmul_naive: medians by operation, and of a whole product the sums by step; wall and processor time. Of
	// bfv_affine: processor time of encoding, number of keys.
	Parts    map[string]float64 `json:"parts"`
	CPUParts map[string]float64 `json:"cpu_parts"`
}

const lattigoPath = "github.com/tuneinsight/lattigo/v6"

// lattigoVersion is the version that was linked into this program.
func lattigoVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == lattigoPath {
				return dep.Version
			}
		}
	}
	return "unknown"
}

func (r *request) fill() error {
	if r.LogN < 4 || r.LogN > 17 {
		return fmt.Errorf("log_n is %d; give 4 to 17", r.LogN)
	}
	if r.PrimeBits == 0 {
		r.PrimeBits = 50
	}
	if r.LogScale == 0 {
		r.LogScale = 40
	}
	if r.Budget <= 0 {
		r.Budget = 1
	}
	if r.LogBSGS == nil {
		one := 1
		r.LogBSGS = &one
	}
	return nil
}

func repeated(value, count int) []int {
	list := make([]int, max(count, 0))
	for i := range list {
		list[i] = value
	}
	return list
}

// primes returns those of Q and P that are named, or the sizes of those to generate; the others are nil, as Lattigo
// wants them.
func (r *request) primes() (q []uint64, logQ []int, p []uint64, logP []int, err error) {
	if len(r.Q) > 0 {
		q = r.Q
	} else {
		logQ = repeated(r.PrimeBits, r.Limbs)
	}
	if len(r.P) > 0 {
		p = r.P
	} else {
		logP = repeated(r.PrimeBits, r.Special)
	}
	if len(q)+len(logQ) == 0 || len(p)+len(logP) == 0 {
		err = fmt.Errorf("needs at least one prime in q (or limbs) and one in p (or special)")
	}
	return
}

// chosenLevel of the ciphertext, up to the highest of the parameters.
func (r *request) chosenLevel(highest int) (int, error) {
	if r.Level == nil {
		return highest, nil
	}
	if *r.Level < 0 || *r.Level > highest {
		return 0, fmt.Errorf("level is %d; give 0 to %d", *r.Level, highest)
	}
	return *r.Level, nil
}

// rotations returns those asked for, or these.
func (r *request) rotations(usual ...int) []int {
	if len(r.Rotations) > 0 {
		return r.Rotations
	}
	return usual
}

func serve(r request) (result, error) {
	res := result{Case: r.Case, Peer: "lattigo", PeerVersion: lattigoVersion(), GoVersion: runtime.Version(),
		LogN: r.LogN}
	if err := r.fill(); err != nil {
		return res, err
	}
	var err error
	switch r.Case {
	case "ntt", "intt":
		err = transform(r, &res)
	case "rotate", "rotate_hoisted", "multiply", "linear_transform", "rotations_naive", "matmul_naive":
		err = scheme(r, &res)
	case "bfv_rotate", "bfv_rotate_hoisted", "bfv_multiply", "bgv_multiply", "bfv_multiply_plain", "bfv_encode",
		"bfv_affine":
		err = integerScheme(r, &res)
	default:
		names := "ntt, intt, rotate, rotate_hoisted, multiply, linear_transform, rotations_naive, matmul_naive, " +
			"bfv_rotate, bfv_rotate_hoisted, bfv_multiply, bgv_multiply, bfv_multiply_plain, bfv_encode, bfv_affine"
		err = fmt.Errorf("unknown case %q; known: %s", r.Case, names)
	}
	res.PeakMiB = peakMiB()
	return res, err
}

func run(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	encoder := json.NewEncoder(out)
	for {
		var r request
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		res, err := serve(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Case, err)
		}
		if err := encoder.Encode(res); err != nil {
			return err
		}
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}

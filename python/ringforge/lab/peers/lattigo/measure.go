// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"time"
)

type timing struct {
	seconds, cpu float64
	iterations   int
}

func usage() syscall.Rusage {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the calling process
	return u
}

func cpuSeconds() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

// peakMiB is the largest resident size so far. The kernel's status file comes first, since the usage call counts
// what the process was before it became this program too.
func peakMiB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	u := usage()
	return float64(u.Maxrss) / 1024
}

// measure runs fn once to warm up, then until the budget is spent but at least `least` times.
func measure(budget float64, least int, fn func() error) (timing, error) {
	if err := fn(); err != nil {
		return timing{}, err
	}
	runtime.GC()
	var walls, cpus []float64
	for begin := time.Now(); len(walls) < least || time.Since(begin).Seconds() < budget; {
		cpu, start := cpuSeconds(), time.Now()
		if err := fn(); err != nil {
			return timing{}, err
		}
		walls = append(walls, time.Since(start).Seconds())
		cpus = append(cpus, cpuSeconds()-cpu)
	}
	return timing{median(walls), median(cpus), len(walls)}, nil
}

func median(values []float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// each is the time of one of count equal parts.
func (t timing) each(count int) timing {
	return timing{t.seconds / float64(count), t.cpu / float64(count), t.iterations}
}

func (t timing) store(res *result) {
	res.Seconds, res.CPUSeconds, res.Iterations = t.seconds, t.cpu, t.iterations
}

func largestDifference(got, want []float64) float64 {
	worst := 0.0
	for i := range want {
		difference := math.Abs(got[i] - want[i])
		if math.IsNaN(difference) {
			return math.MaxFloat64 // JSON has no NaN
		}
		worst = math.Max(worst, difference)
	}
	return worst
}

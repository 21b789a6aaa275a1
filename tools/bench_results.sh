#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# bench_results.sh [STAGE ...]
# Measures what docs/results.md shows, beside peers, into bench/results, then makes the page, the figures in documents and
# the table of capacity anew. Run it on a machine that does nothing else: the load before and after stands in the results.
# Without stages the quick ones are measured, some 25 minutes on two cores; `all` adds the long ones, an hour and a half.
# Peers need Go 1.21, Rust 1.91 and TenSEAL, and are built at the first use.
set -eu
cd "$(dirname "$0")/.."
quick="ring matvec gates integers matmul-a matmul-128 vectors matmul-b omr stages posting aes aes-run networks"
long="matvec-all matmul-b-all matmul-c aes-ltv boards psi"
keys=${BENCH_KEYS:-build/bench-keys}
why="a reproduction"

bench() {
  ringforge bench "$@" --save bench/results
}

measure() {
  case $1 in
    ring) bench ring --rounds 3 ;;                                                        # 3 minutes
    matvec) bench matvec --layer rnnt-fc0 ;;                                              # 2
    gates)                                                                                # 3
      bench gates --set gates-128 --rounds 3
      bench gates --set paper-std128-ap --rounds 3 --insecure "$why" ;;
    integers) bench gates --integers --operations add8,min8,mul8,add32,mul32 --rounds 1 ;; # 2
    matmul-a)                                                                             # 4
      bench matmul --params set-a --shape all --algorithm ringforge --algorithm naive
      bench matmul --params set-a --algorithm batch --level both --peer none ;;
    matmul-128) bench matmul --params matmul-a-128 --level both --peer none ;;            # under 1
    vectors)                                                                              # 1
      bench matmul --params matmul-b-128 --level auto --peer none --algorithm fold --algorithm ringforge \
        --shape 1x64x64 --shape 64x64x1 --shape 1x128x128 --shape 128x128x1 ;;
    matmul-b) bench matmul --params set-b ;;                                              # 5
    omr) bench omr --rounds 1 ;;                                                          # 2
    stages) bench omr --stages ringforge ;;                                               # 2
    posting) bench omr --posting ringforge ;;                                             # 1
    aes) bench aes ;;                                                                     # 1
    aes-run) bench aes --run "$keys" --set bgv-aes ;;                                     # 2
    networks)                                                                             # 1
      bench matvec --network conv
      bench matvec --network deep ;;
    matvec-all) bench matvec ;;                                                           # 8
    matmul-b-all) bench matmul --params set-b --shape all --algorithm ringforge --algorithm naive ;; # 20
    matmul-c)                                                                             # 15
      bench matmul --params set-c --algorithm ringforge --algorithm naive
      bench matmul --params set-c --level auto --shape all --peer none ;;
    aes-ltv)                                                                              # 15, 20 GB of keys
      bench aes --set ltv-paper --insecure "$why"
      bench aes --run "$keys" --set ltv-paper --insecure "$why"
      bench aes --run "$keys" --set ltv-rns --insecure "$why"
      bench aes --host --insecure "$why" ;;
    boards) bench omr --boards ringforge ;;                                               # 6
    psi)                                                                                  # 15
      bench psi
      bench psi --poly --elements 20 --client 12 --threads 1
      bench psi --poly --elements 20 --client 12 --threads 1 --label-bytes 16 ;;
    *)
      echo "no stage $1: take one of $quick $long, or all" >&2
      exit 2 ;;
  esac
}

stages=${*:-$quick}
[ "$stages" = all ] && stages="$quick $long"
for stage in $stages; do
  begin=$(date +%s)
  measure "$stage"
  echo "stage $stage: $(($(date +%s) - begin)) s" >&2
done
ringforge reproduce results --overwrite --write docs/results.md
python tools/figures.py --write
python tools/capacity.py --write

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

//! Times boolean gates and integers of the tfhe-rs library.
//!
//! Reads JSON requests from standard input, one after another, and prints one JSON result a line. A request that cannot
//! be served ends the program with status 1 and a message on standard error.

mod integers;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{stdin, stdout, Write};
use std::sync::Barrier;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tfhe::boolean::prelude::*;

/// As pinned in Cargo.toml.
const TFHE_VERSION: &str = "1.8.2";

/// What to measure: gates one by one on one thread for `budget_s` seconds each, then for every number of `threads`
/// levels of `batch` NAND gates that are independent of each other; a batch of 0 measures none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    params: String,
    gates: Vec<String>,
    budget_s: f64,
    batch: usize,
    threads: Vec<usize>,
}

/// One gate: medians of single runs, in seconds.
#[derive(Serialize)]
struct Gate {
    seconds: f64,
    cpu_seconds: f64,
    iterations: usize,
}

/// Wall time and processor time of all threads, both for one gate of a batch, in seconds.
#[derive(Serialize)]
struct Batch {
    threads: usize,
    seconds: f64,
    cpu_seconds: f64,
    gates: usize,
}

/// Gates, or integers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Question {
    Gates(Request),
    Integers(integers::Request),
}

fn answer(question: &Question) -> Result<String, String> {
    let line = match question {
        Question::Gates(request) => serde_json::to_string(&serve(request)?),
        Question::Integers(request) => serde_json::to_string(&integers::serve(request)?),
    };
    line.map_err(|e| e.to_string())
}

/// Dimensions, and standard deviations as fractions of the modulus 2^32. `errors` counts wrong bits.
#[derive(Serialize)]
struct Answer {
    peer: &'static str,
    peer_version: &'static str,
    params: String,
    n: usize,
    k: usize,
    degree: usize,
    lwe_deviation: f64,
    glwe_deviation: f64,
    keygen_seconds: f64,
    gates: BTreeMap<String, Gate>,
    batches: Vec<Batch>,
    errors: usize,
    peak_mib: f64,
}

fn parameters(name: &str) -> Result<BooleanParameters, String> {
    match name {
        "default" => Ok(DEFAULT_PARAMETERS),
        "default-ks-pbs" => Ok(DEFAULT_PARAMETERS_KS_PBS),
        "2^-165" => Ok(PARAMETERS_ERROR_PROB_2_POW_MINUS_165),
        "2^-165-ks-pbs" => Ok(PARAMETERS_ERROR_PROB_2_POW_MINUS_165_KS_PBS),
        _ => Err(format!(
            "params is {name}: take default, default-ks-pbs, 2^-165 or 2^-165-ks-pbs"
        )),
    }
}

/// Processor seconds of this thread, or of the process.
fn cpu_seconds(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec that lives through the call.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The largest resident size so far.
fn peak_mib() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that lives through the call; zeroes are a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_maxrss as f64 / 1024.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

struct Bench {
    client: ClientKey,
    server: ServerKey,
    zero: Ciphertext,
    one: Ciphertext,
    errors: usize,
}

impl Bench {
    fn bit(&self, value: bool) -> &Ciphertext {
        if value {
            &self.one
        } else {
            &self.zero
        }
    }

    fn run(&self, gate: &str, inputs: usize) -> Result<(Ciphertext, bool), String> {
        let [a, b, c] = [0, 1, 2].map(|i| inputs >> i & 1 == 1);
        let (x, y, z, key) = (self.bit(a), self.bit(b), self.bit(c), &self.server);
        Ok(match gate {
            "AND" => (key.and(x, y), a & b),
            "OR" => (key.or(x, y), a | b),
            "NAND" => (key.nand(x, y), !(a & b)),
            "NOR" => (key.nor(x, y), !(a | b)),
            "XOR" => (key.xor(x, y), a ^ b),
            "XNOR" => (key.xnor(x, y), !(a ^ b)),
            "MUX" => (key.mux(x, y, z), if a { b } else { c }),
            _ => {
                return Err(format!(
                    "gate is {gate}: take AND, OR, NAND, NOR, XOR, XNOR or MUX"
                ))
            }
        })
    }

    /// Goes through the truth table until the budget is spent and all of it is done. The first run warms up.
    fn time(&mut self, gate: &str, budget_s: f64) -> Result<Gate, String> {
        self.run(gate, 0)?;
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while walls.len() < 8 || begin.elapsed().as_secs_f64() < budget_s {
            let (cpu, wall) = (cpu_seconds(libc::CLOCK_THREAD_CPUTIME_ID), Instant::now());
            let (result, expected) = self.run(gate, walls.len())?;
            walls.push(wall.elapsed().as_secs_f64());
            cpus.push(cpu_seconds(libc::CLOCK_THREAD_CPUTIME_ID) - cpu);
            self.errors += usize::from(self.client.decrypt(&result) != expected);
        }
        Ok(Gate {
            seconds: median(&mut walls),
            cpu_seconds: median(&mut cpus),
            iterations: walls.len(),
        })
    }

    /// Splits levels of NAND gates among threads; every thread has its share of one level as a warm-up.
    fn level(&self, batch: usize, threads: usize, budget_s: f64) -> Batch {
        let share = |t: usize| batch * t / threads..batch * (t + 1) / threads;
        let work = |t: usize| {
            for i in share(t) {
                black_box(self.server.nand(self.bit(i & 1 == 1), &self.one));
            }
        };
        let begin = Instant::now();
        work(0);
        let warm = begin.elapsed().as_secs_f64().max(1e-6);
        let levels = ((budget_s / warm).ceil() as usize).max(1);
        let barrier = Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            for t in 0..threads {
                let (work, barrier) = (&work, &barrier);
                scope.spawn(move || {
                    work(t);
                    barrier.wait();
                    (0..levels).for_each(|_| work(t));
                    barrier.wait();
                });
            }
            barrier.wait();
            let (cpu, wall) = (cpu_seconds(libc::CLOCK_PROCESS_CPUTIME_ID), Instant::now());
            barrier.wait();
            let gates = levels * batch;
            Batch {
                threads,
                seconds: wall.elapsed().as_secs_f64() / gates as f64,
                cpu_seconds: (cpu_seconds(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu) / gates as f64,
                gates,
            }
        })
    }
}

fn serve(request: &Request) -> Result<Answer, String> {
    let params = parameters(&request.params)?;
    if request.threads.iter().any(|&t| t < 1 || t > 4096) || request.batch > 1 << 20 {
        return Err("threads are 1 to 4096, and a batch has at most 2^20 gates".into());
    }
    let begin = Instant::now();
    let client = ClientKey::new(&params);
    let server = ServerKey::new(&client);
    let keygen_seconds = begin.elapsed().as_secs_f64();
    let (zero, one) = (client.encrypt(false), client.encrypt(true));
    let mut bench = Bench {
        client,
        server,
        zero,
        one,
        errors: 0,
    };
    let mut gates = BTreeMap::new();
    for gate in &request.gates {
        gates.insert(gate.clone(), bench.time(gate, request.budget_s)?);
    }
    let counts = if request.batch == 0 {
        &[]
    } else {
        request.threads.as_slice()
    };
    let batches = counts
        .iter()
        .map(|&t| bench.level(request.batch, t, request.budget_s))
        .collect();
    Ok(Answer {
        peer: "tfhe",
        peer_version: TFHE_VERSION,
        params: request.params.clone(),
        n: params.lwe_dimension.0,
        k: params.glwe_dimension.0,
        degree: params.polynomial_size.0,
        lwe_deviation: params.lwe_noise_distribution.gaussian_std_dev().0,
        glwe_deviation: params.glwe_noise_distribution.gaussian_std_dev().0,
        keygen_seconds,
        gates,
        batches,
        errors: bench.errors,
        peak_mib: peak_mib(),
    })
}

fn main() {
    for question in serde_json::Deserializer::from_reader(stdin()).into_iter::<Question>() {
        let line = question
            .map_err(|e| format!("not a request: {e}"))
            .and_then(|q| answer(&q));
        match line {
            Ok(line) => {
                println!("{line}");
                stdout().flush().expect("standard output takes a line");
            }
            Err(why) => {
                eprintln!("ringforge-tfhe: {why}");
                std::process::exit(1);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors

//! Times operations on encrypted unsigned integers, blocks of two bits, on as many threads as RAYON_NUM_THREADS says.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tfhe::prelude::*;
use tfhe::shortint::parameters::{v1_6, v1_8, ClassicPBSParameters};
use tfhe::{generate_keys, set_server_key, unset_server_key, ClientKey, ConfigBuilder};
use tfhe::{FheUint16, FheUint32, FheUint64, FheUint8};

use crate::{cpu_seconds, median, peak_mib, Gate, TFHE_VERSION};

/// What to measure: each operation, "add32" for example, for `budget_s` seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    integers: String,
    operations: Vec<String>,
    budget_s: f64,
}

/// Dimensions, and standard deviations as fractions of the modulus 2^64. `errors` counts wrong results.
#[derive(Serialize)]
pub struct Answer {
    peer: &'static str,
    peer_version: &'static str,
    params: String,
    n: usize,
    k: usize,
    degree: usize,
    lwe_deviation: f64,
    glwe_deviation: f64,
    failure_log2: f64,
    keygen_seconds: f64,
    operations: BTreeMap<String, Gate>,
    errors: usize,
    peak_mib: f64,
}

fn parameters(name: &str) -> Result<ClassicPBSParameters, String> {
    match name {
        "2^-64" => Ok(v1_6::V1_6_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M64),
        "2^-128" => Ok(v1_8::V1_8_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128),
        _ => Err(format!("integers are at {name}: take 2^-64 or 2^-128")),
    }
}

/// A pair of numbers for each run, all bits of them in use.
fn pair(run: u64, width: u32) -> (u64, u64) {
    let mask = u64::MAX >> (64 - width);
    let a = run.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let b = run.wrapping_add(7).wrapping_mul(0xd1b5_4a32_d192_ed03);
    (a & mask, b & mask)
}

macro_rules! timed {
    ($name:ident, $fhe:ty, $plain:ty) => {
        fn $name(op: &str, budget_s: f64, client: &ClientKey, errors: &mut usize) -> Result<Gate, String> {
            let (mut walls, mut cpus) = (Vec::new(), Vec::new());
            let mut spent = 0.0;
            // The first run warms up, and is checked like the others.
            while walls.len() < 3 || spent < budget_s {
                let (a, b) = pair(walls.len() as u64, <$plain>::BITS);
                let (a, b) = (a as $plain, b as $plain);
                let (x, y) = (<$fhe>::encrypt(a, client), <$fhe>::encrypt(b, client));
                let (cpu, wall) = (cpu_seconds(libc::CLOCK_PROCESS_CPUTIME_ID), Instant::now());
                let (result, expected): ($fhe, $plain) = match op {
                    "add" => (&x + &y, a.wrapping_add(b)),
                    "sub" => (&x - &y, a.wrapping_sub(b)),
                    "mul" => (&x * &y, a.wrapping_mul(b)),
                    "min" => (x.min(&y), a.min(b)),
                    "max" => (x.max(&y), a.max(b)),
                    _ => return Err(format!("operation is {op}: take add, sub, mul, min or max")),
                };
                let elapsed = wall.elapsed().as_secs_f64();
                walls.push(elapsed);
                cpus.push(cpu_seconds(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu);
                spent += elapsed;
                let found: $plain = result.decrypt(client);
                *errors += usize::from(found != expected);
            }
            walls.remove(0);
            cpus.remove(0);
            Ok(Gate {
                seconds: median(&mut walls),
                cpu_seconds: median(&mut cpus),
                iterations: walls.len(),
            })
        }
    };
}

timed!(time8, FheUint8, u8);
timed!(time16, FheUint16, u16);
timed!(time32, FheUint32, u32);
timed!(time64, FheUint64, u64);

pub fn serve(request: &Request) -> Result<Answer, String> {
    let params = parameters(&request.integers)?;
    let begin = Instant::now();
    let (client, server) = generate_keys(ConfigBuilder::with_custom_parameters(params));
    let keygen_seconds = begin.elapsed().as_secs_f64();
    set_server_key(server);
    let mut operations = BTreeMap::new();
    let mut errors = 0;
    for name in &request.operations {
        let split = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (op, width) = name.split_at(split);
        let time = match width {
            "8" => time8,
            "16" => time16,
            "32" => time32,
            "64" => time64,
            _ => return Err(format!("operation is {name}: widths are 8, 16, 32 and 64")),
        };
        operations.insert(name.clone(), time(op, request.budget_s, &client, &mut errors)?);
    }
    unset_server_key();
    Ok(Answer {
        peer: "tfhe",
        peer_version: TFHE_VERSION,
        params: request.integers.clone(),
        n: params.lwe_dimension.0,
        k: params.glwe_dimension.0,
        degree: params.polynomial_size.0,
        lwe_deviation: params.lwe_noise_distribution.gaussian_std_dev().0,
        glwe_deviation: params.glwe_noise_distribution.gaussian_std_dev().0,
        failure_log2: params.log2_p_fail,
        keygen_seconds,
        operations,
        errors,
        peak_mib: peak_mib(),
    })
}

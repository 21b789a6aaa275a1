// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small messages and keys of the third-generation schemes, the same in each run, for the fuzz targets, their corpora
// and the tests of the readers. Their parameters are as small as the library takes and secure nothing.
#pragma once

#include <array>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ringforge/circuits/psi.hpp"
#include "ringforge/fhew/gates.hpp"
#include "ringforge/fhew/records.hpp"
#include "ringforge/ring.hpp"

namespace ringforge::fuzz {

inline constexpr std::size_t kGateKeyId = 8;   ///< bytes of the id that gates' keys begin with
inline constexpr std::size_t kOldHeader = 40;  ///< of gates' files from before records: magic, version, hash
inline constexpr char kOldGateKeyMagic[] = "RGFGATE";

/// N = 1024 over 25 bits, two bins of 16 cells of 64 one-bit words.
inline circuits::PsiPlan psi_plan(circuits::PsiAlgorithm algorithm) {
  constexpr kernels::Cut kOneDigit{12, 1, 13, true};
  circuits::PsiPlan plan;
  plan.algorithm = algorithm;
  plan.log_n = 10;
  plan.modulus = primes_below(25, 1, 2048)[0];
  plan.log_bins = 1;
  plan.cell_bits = 4;
  plan.log_cell = 6;
  plan.log_t = 1;
  plan.gadget = plan.reconstruction = kOneDigit;
  plan.expansion.assign(plan.log_n, kOneDigit);
  plan.log_reply = 12;
  plan.check();
  return plan;
}

/// Both plans: what is looked up first is taken for hashes that are neither's.
inline const std::array<circuits::PsiPlan, 2>& psi_plans() {
  static const std::array<circuits::PsiPlan, 2> plans{psi_plan(circuits::PsiAlgorithm::ringforge),
                                                      psi_plan(circuits::PsiAlgorithm::paper)};
  return plans;
}

/// n = 64, N = 256 over 18 bits; keys are switched modulo q = 32 by balanced digits, or modulo Q by plain ones.
inline fhew::GateParameters gate_parameters(bool at_q) {
  fhew::GateParameters p;
  p.name = at_q ? "tiny" : "tiny-Q";
  p.insecure = "test";
  p.n = 64;
  p.log_q = 5;
  p.lwe_secret = at_q ? fhew::LweSecret::binary : fhew::LweSecret::ternary;
  p.log_n = 8;
  p.modulus = primes_below(18, 1, 512)[0];
  p.a = p.b = p.automorphism = at_q ? kernels::Cut{9, 1, 9, true} : kernels::Cut{18, 1, 0, false};
  p.window = 2;
  p.ap_base = 32;
  p.key_switch = at_q ? fhew::LweSwitch{true, 3, 2, 2, true} : fhew::LweSwitch{false, 2, 18, 0, false};
  p.check();
  return p;
}

inline const std::array<fhew::GateParameters, 2>& gate_sets() {
  static const std::array<fhew::GateParameters, 2> sets{gate_parameters(true), gate_parameters(false)};
  return sets;
}

inline bool is_old_gate_key(const std::uint8_t* data, std::size_t size) {
  return size >= kOldHeader && std::memcmp(data, kOldGateKeyMagic, 7) == 0;
}

/// The plan or set whose hash is in the header, the first one otherwise.
template <class T>
const T& named_by(const std::array<T, 2>& all, const std::uint8_t* data, std::size_t size) {
  const auto second = all[1].hash();
  const std::size_t at = is_old_gate_key(data, size) ? 8 : 12;
  return size >= at + second.size() && std::equal(second.begin(), second.end(), data + at) ? all[1] : all[0];
}

/// A record of an evaluation key of gates as format '1' or '2' had it.
inline std::vector<std::uint8_t> old_gate_key(const std::vector<std::uint8_t>& record, char version) {
  std::vector<std::uint8_t> out(kOldGateKeyMagic, kOldGateKeyMagic + 7);
  out.push_back(static_cast<std::uint8_t>(version));
  out.insert(out.end(), record.begin() + 12, record.begin() + 44);
  const auto body = record.begin() + io::kHeaderBytes + (version == '1' ? kGateKeyId : 0);
  out.insert(out.end(), body, record.end());
  io::seal_record(out);
  return out;
}

inline TestRandomness fhew_randomness() {
  Seed seed{};
  seed[0] = 1;
  return TestRandomness(seed);
}

/// A secret of zeros with an id of choice; 0 is that of keys from files of format 1.
inline fhew::GateSecretKey gate_secret(const fhew::GateParameters& p, u64 id) {
  return {p, SmallPoly(p.n), SmallPoly(p.degree()), id};
}

/// Reader name -> samples by a short name. A reply's words may be anything, so that they are drawn.
inline std::map<std::string, std::map<std::string, std::vector<std::uint8_t>>> make_fhew_samples() {
  std::map<std::string, std::map<std::string, std::vector<std::uint8_t>>> out;
  for (const circuits::PsiPlan& plan : psi_plans()) {
    const std::string name = plan.onehot() ? "ringforge" : "paper";
    TestRandomness rng = fhew_randomness();
    circuits::PsiClientKey client(plan, rng);
    auto& keys = out["psi_keys"][name];
    keys.resize(plan.key_bytes());
    client.evaluation_keys(keys.data());
    auto& request = out["psi_request"][name];
    request.resize(plan.request_bytes());
    const u32 cells[] = {3, 12};
    client.query(request.data(), cells);
    auto& reply = out["psi_reply"][name];
    reply.resize(plan.reply_bytes());
    io::begin_record(reply, circuits::kPsiReplyType, plan.hash());
    Stream words({}, StreamObject::mask);
    for (std::size_t i = io::kHeaderBytes; i < reply.size(); ++i) reply[i] = static_cast<std::uint8_t>(words.next());
    io::seal_record(reply);
  }
  for (const fhew::GateParameters& p : gate_sets())
    for (const fhew::Method method : {fhew::Method::ginx, fhew::Method::automorphism}) {
      if (!p.key_switch.at_q && method == fhew::Method::ginx) continue;  // twice as long as the rest
      TestRandomness rng = fhew_randomness();
      const fhew::GateSecretKey secret(p, rng);
      const auto emit = [&](const fhew::GateSecretKey& s, const std::string& name) {
        std::ostringstream stream;
        fhew::GateEvaluationKey::make(s, method, rng).save(stream);
        const std::string bytes = stream.str();
        auto& key = out["gate_key"][p.name + "-" + fhew::name(method) + name];
        key.assign(bytes.begin(), bytes.end());
        return key;
      };
      const std::vector<std::uint8_t> key = emit(secret, "");
      if (method != fhew::Method::ginx) continue;
      emit(gate_secret(p, 0), "-without-id");
      for (const char version : {'1', '2'}) out["gate_key"][p.name + "-format" + version] = old_gate_key(key, version);
    }
  return out;
}

}  // namespace ringforge::fuzz

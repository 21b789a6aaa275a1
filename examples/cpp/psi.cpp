// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Which of my few names are on a server's list? The server looks them up in a table without learning which, and
// computes on every cell whatever was asked. (The Python package adds what a service needs: elements hidden by an
// oblivious pseudorandom function, cuckoo hashing, long tags, labels, quotas.)
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "ringforge/circuits/psi.hpp"
#include "ringforge/sha256.hpp"

namespace {
using namespace ringforge;

/// What both sides agree on: 16 bins of 2^14 cells each, in a ring of degree 2^11 with a prime of 50 bits.
circuits::PsiPlan agreed() {
  circuits::PsiPlan plan;
  plan.modulus = primes_below(50, 1, 4096)[0];
  plan.log_bins = 4;
  plan.cell_bits = 14;
  plan.log_onehot = 2;
  plan.gadget = {8, 2, 34, true};
  plan.expansion.assign(11, {5, 9, 5, true});  // digits of each stage: fine ones, which add little noise
  plan.reconstruction = {9, 5, 5, true};
  plan.log_reply = 9;
  plan.check();
  return plan;
}

/// Bin and cell of a name.
std::pair<u32, u32> place(const std::string& name) {
  const auto digest = sha256(name.data(), name.size());
  return {digest[0] & 15U, (digest[1] | u32{digest[2]} << 8) & 0x3fffU};
}
}  // namespace

int main() {
  const circuits::PsiPlan plan = agreed();

  // Server: its names, as the cells that are set in each bin, ascending.
  std::vector<std::set<u32>> bins(plan.bins());
  for (int i = 0; i < 400; ++i) {
    const auto [bin, cell] = place("person-" + std::to_string(i));
    bins[bin].insert(cell);
  }
  std::vector<u64> offsets{0};
  std::vector<u32> cells;
  std::size_t most = 0;
  for (const auto& bin : bins) {
    cells.insert(cells.end(), bin.begin(), bin.end());
    offsets.push_back(cells.size());
    most = std::max(most, bin.size());
  }
  const circuits::PsiTable table{offsets.data(), cells.data(), nullptr, cells.size()};
  circuits::check_table(plan, table);

  // Client: a secret for the session, keys for the server.
  Randomness rng;
  circuits::PsiClientKey client(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  client.evaluation_keys(keys.data());
  const circuits::PsiSessionKeys session(plan, keys);  // at the server

  // A query names one cell of every bin; bins without a name of ours get some cell. Names of one bin take turns.
  std::multimap<u32, std::string> waiting;
  for (const char* name : {"person-7", "person-123", "person-399", "nobody", "stranger"})
    waiting.emplace(place(name).first, name);
  std::set<std::string> found;
  while (!waiting.empty()) {
    std::vector<u32> asked(plan.bins(), 0);
    std::map<u32, std::string> now;
    for (u32 bin = 0; bin < plan.bins(); ++bin)
      if (const auto it = waiting.find(bin); it != waiting.end()) {
        asked[bin] = place(it->second).second;
        now[bin] = it->second;
        waiting.erase(it);
      }
    client.query(request.data(), asked.data());
    const auto reply = circuits::psi_answer(session, request, table);  // at the server
    std::vector<std::uint16_t> words(plan.bins());
    client.decode(words.data(), reply);
    for (const auto& [bin, name] : now)
      if (words[bin] == 1) found.insert(name);
  }
  for (const auto& name : found) std::printf("on the list: %s\n", name.c_str());
  std::printf("request %zu bytes, wrong with probability 2^%.0f\n", request.size(), plan.failure_log2(most));
  return found == std::set<std::string>{"person-7", "person-123", "person-399"} ? 0 : 1;
}

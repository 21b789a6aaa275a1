// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// DRAM behind the AXI4 ports of a simulated machine; it knows nothing of the machine's pins.
//
// Segments of the caller's memory lie at given addresses, each belonging to an entity for which bytes are counted.
// Reads answer after `latency` cycles, in order per port; all ports together move at most `rate` bytes per cycle, a
// beat at a time in turn. An access that is not within one segment is answered with SLVERR.
//
// In every cycle the driver calls `offer`, puts what each port's `Offer` says on the pins, lets the design settle,
// reports the handshakes that come about (`read_taken` ... `write_request`), and calls `end_cycle`.
#ifndef RINGFORGE_SIM_MEMORY_HPP
#define RINGFORGE_SIM_MEMORY_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace ringforge::sim {

struct Segment {
  std::uint64_t addr, size;
  std::uint8_t* data;
  unsigned entity;
};

struct Traffic {
  std::uint64_t read = 0, written = 0;
};

/// What memory drives on the pins of one port in a cycle.
struct Offer {
  bool arready = false, awready = false, wready = false, rvalid = false, bvalid = false;
  bool rlast = false, rerror = false, berror = false;
  /// The beat to put on rdata when `fresh`; null where there is none, and rdata means nothing.
  const std::uint8_t* rdata = nullptr;
  /// rvalid is new in this cycle: later cycles of the same offer leave rdata, rlast and rresp as they are.
  bool fresh = false;
};

class Memory {
 public:
  static constexpr unsigned kEntities = 16;

  /// `rate`: bytes per cycle of all ports together; `stall_percent`: chance that a channel withholds its handshake.
  Memory(unsigned ports, unsigned beat, unsigned latency, double rate, unsigned stall_percent, std::uint64_t seed)
      : beat_(beat), latency_(latency), rate_(rate), stall_(stall_percent), random_(seed), ports_(ports) {}

  void map(const Segment& s) {
    segments_.push_back(s);
    std::sort(segments_.begin(), segments_.end(), [](auto& a, auto& b) { return a.addr < b.addr; });
  }
  /// What is still in flight is answered without touching the caller's memory: reads give anything.
  void unmap_all() {
    segments_.clear();
    for (Port& p : ports_)
      for (auto* bursts : {&p.reads, &p.writes})
        for (Burst& b : *bursts) b.data = nullptr;
  }

  /// Forgets what is in flight.
  void reset() {
    for (auto& p : ports_) p = {};
  }

  /// Which port, reads or writes, is served first in the next cycle.
  unsigned turn() const { return turn_; }
  void set_turn(unsigned turn) { turn_ = turn; }

  std::uint64_t now() const { return now_; }
  /// Beats that have crossed the ports, ever.
  std::uint64_t beats() const { return beats_; }
  const Traffic& traffic(unsigned entity) const { return traffic_[entity]; }
  void clear_traffic() { traffic_ = {}; }

  /// Decides what every port is offered in this cycle.
  void offer() {
    const auto n = static_cast<unsigned>(ports_.size());
    tokens_ = std::min(tokens_ + rate_, 2.0 * n * beat_);
    // Reads and writes of all ports take turns for the bandwidth.
    for (unsigned k = 0; k < 2 * n; ++k) {
      const unsigned i = (k + turn_) % (2 * n);
      if (i < n)
        offer_read(ports_[i]);
      else
        offer_write(ports_[i - n]);
    }
    turn_ = (turn_ + 1) % (2 * n);
    for (Port& p : ports_) {
      p.offer.arready = p.reads.size() < kQueue && !stalls();
      p.offer.awready = p.writes.size() < kQueue && !stalls();
      p.offer.bvalid =
          !p.acknowledgements.empty() && p.acknowledgements.front().first <= now_ && (p.offer.bvalid || !stalls());
      if (p.offer.bvalid) p.offer.berror = p.acknowledgements.front().second;
    }
  }
  const Offer& offered(unsigned port) const { return ports_[port].offer; }

  void read_taken(unsigned port) {
    Port& p = ports_[port];
    Burst& b = p.reads.front();
    ++beats_;
    if (b.data) {
      b.data += beat_;
      traffic_[b.entity].read += beat_;
    }
    if (--b.left == 0) p.reads.pop_front();
    p.offer.rvalid = false;
  }
  /// `strobes`: a bit per byte of the beat.
  void write_taken(unsigned port, const std::uint8_t* data, const std::uint8_t* strobes) {
    Port& p = ports_[port];
    Burst& b = p.writes.front();
    ++beats_;
    tokens_ -= beat_;
    if (b.data) {
      store(b.data, data, strobes);
      b.data += beat_;
      traffic_[b.entity].written += beat_;
    }
    if (--b.left == 0) {
      p.acknowledgements.emplace_back(now_ + latency_, b.error);
      p.writes.pop_front();
    }
  }
  void acknowledgement_taken(unsigned port) {
    ports_[port].acknowledgements.pop_front();
    ports_[port].offer.bvalid = false;
  }
  void read_request(unsigned port, std::uint64_t addr, unsigned beats) {
    ports_[port].reads.push_back(locate(addr, beats));
  }
  void write_request(unsigned port, std::uint64_t addr, unsigned beats) {
    ports_[port].writes.push_back(locate(addr, beats));
  }

  void end_cycle() { ++now_; }

 private:
  /// Bursts that a port takes before the first of them has ended.
  static constexpr std::size_t kQueue = 64;

  struct Burst {
    std::uint64_t ready;  // first cycle in which it may move
    std::uint8_t* data;   // null: there is nothing to move
    unsigned left, entity;
    bool error;
  };
  struct Port {
    std::deque<Burst> reads, writes;
    std::deque<std::pair<std::uint64_t, bool>> acknowledgements;  // cycle, error
    Offer offer;
  };

  Burst locate(std::uint64_t addr, unsigned beats) const {
    const std::uint64_t size = std::uint64_t{beats} * beat_;
    auto it = std::upper_bound(segments_.begin(), segments_.end(), addr, [](auto a, auto& s) { return a < s.addr; });
    if (it == segments_.begin()) return {now_ + latency_, nullptr, beats, 0, true};
    --it;
    if (addr + size > it->addr + it->size) return {now_ + latency_, nullptr, beats, 0, true};
    return {now_ + latency_, it->data + (addr - it->addr), beats, it->entity, false};
  }
  bool stalls() { return stall_ != 0 && random_() % 100 < stall_; }

  void offer_read(Port& p) {
    p.offer.fresh = false;
    if (p.offer.rvalid) return;  // an offered beat stays until it is taken
    if (p.reads.empty() || p.reads.front().ready > now_ || tokens_ < beat_ || stalls()) return;
    const Burst& b = p.reads.front();
    p.offer.fresh = p.offer.rvalid = true;
    p.offer.rdata = b.data;
    p.offer.rerror = b.error;
    p.offer.rlast = b.left == 1;
    tokens_ -= beat_;
  }
  void offer_write(Port& p) { p.offer.wready = !p.writes.empty() && tokens_ >= beat_ && !stalls(); }

  void store(std::uint8_t* to, const std::uint8_t* data, const std::uint8_t* strobes) const {
    const unsigned groups = beat_ / 8;
    if (std::all_of(strobes, strobes + groups, [](std::uint8_t s) { return s == 0xff; }))
      std::memcpy(to, data, beat_);
    else
      for (unsigned k = 0; k < beat_; ++k)
        if ((strobes[k / 8] >> (k % 8)) & 1) to[k] = data[k];
  }

  unsigned beat_, latency_;
  double rate_, tokens_ = 0;
  unsigned stall_, turn_ = 0;
  std::mt19937_64 random_;
  std::uint64_t now_ = 0, beats_ = 0;
  std::vector<Segment> segments_;
  std::vector<Port> ports_;
  std::array<Traffic, kEntities> traffic_;
};

}  // namespace ringforge::sim

#endif

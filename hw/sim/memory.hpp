// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// DRAM behind the AXI4 ports of a simulated machine; it knows nothing of the machine's pins.
//
// Segments of the caller's memory lie at given addresses, each belonging to an entity for which bytes are counted.
// Simple: reads answer after `latency` cycles, in order per port; all ports together move at most `rate` bytes per
// cycle, a beat at a time in turn. With `banks`: channels with banks, rows and refresh (Dram), what crosses a port is
// in order too. An access that is not within one segment is answered with SLVERR.
//
// Runs are alike whatever went before: `begin` says when one starts.
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
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace ringforge::sim {

struct Segment {
  std::uint64_t addr, size;
  std::uint8_t* data;
  unsigned entity;
};

/// What of the caller's memory is mapped, by address.
class Segments {
 public:
  void map(const Segment& s) {
    segments_.insert(std::upper_bound(segments_.begin(), segments_.end(), s.addr, before), s);
  }
  void unmap_all() { segments_.clear(); }
  /// The segment that holds all of an access; null if none does.
  const Segment* find(std::uint64_t addr, std::uint64_t size) const {
    auto it = std::upper_bound(segments_.begin(), segments_.end(), addr, before);
    if (it == segments_.begin()) return nullptr;
    --it;
    return addr + size > it->addr + it->size ? nullptr : &*it;
  }

 private:
  static bool before(std::uint64_t addr, const Segment& s) { return addr < s.addr; }
  std::vector<Segment> segments_;
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

/// Channels of DRAM, each with banks of which one row may be open, and refresh. Times are in 1/256 cycle from the
/// begin of a run. ringforge.hw.core.memory has the figures and says what is left out; the replica of the timing
/// (replica_dram.py) computes the same, number by number.
class Dram {
 public:
  static constexpr std::int64_t kUnit = 256, kStripe = 4096;
  /// As in `Timing`, in this order.
  struct Timing {
    std::int64_t channels, banks, row_bytes, front, pace, cl, rcd, rp, ras, wr, turnaround, refi, rfc;
  };

  explicit Dram(const Timing& t) : t_(t) { begin(); }

  std::int64_t pace() const { return t_.pace; }

  /// Rows closed, refreshes counted anew.
  void begin() {
    channels_.assign(static_cast<std::size_t>(t_.channels), Channel{});
    for (Channel& c : channels_) {
      c.refresh = t_.refi;
      c.banks.assign(static_cast<std::size_t>(t_.banks), Bank{});
    }
  }

  /// A burst that comes to the port at `now`: when its data begin to move on the channel's bus.
  std::int64_t schedule(std::int64_t now, std::uint64_t addr, unsigned beats, unsigned beat, bool write) {
    const auto address = static_cast<std::int64_t>(addr), stripe = address / kStripe;
    Channel& c = channels_[static_cast<std::size_t>(stripe % t_.channels)];
    const std::int64_t local = stripe / t_.channels * kStripe + address % kStripe;
    const std::int64_t start = now + t_.front, size = std::int64_t{beats} * beat;
    while (std::max(start, c.free) >= c.refresh) {
      c.free = std::max(c.refresh, c.free) + t_.rfc;
      for (Bank& b : c.banks) b = {-1, 0, 0, c.free};
      c.refresh += t_.refi;
    }
    std::int64_t data = std::max(start + t_.cl, c.free + (c.wrote != write ? t_.turnaround : 0));
    for (std::int64_t offset = 0; offset < size;) {
      const std::int64_t at = local + offset, row = at / (t_.row_bytes * t_.banks);
      Bank& b = bank(c, at);
      if (b.row != row) {
        const std::int64_t ready = std::max(start, b.closable);
        b.opened = b.row < 0 ? ready : std::max(ready, b.opened + t_.ras) + t_.rp;
        b.column = b.opened + t_.rcd;
        b.row = row;
      }
      data = std::max(data, std::max(start, b.column) + t_.cl - offset / beat * t_.pace);
      offset += t_.row_bytes - at % t_.row_bytes;
    }
    c.free = data + beats * t_.pace;
    c.wrote = write;
    for (std::int64_t offset = 0; offset < size; offset += t_.row_bytes - (local + offset) % t_.row_bytes)
      bank(c, local + offset).closable = c.free + (write ? t_.wr : 0);
    return data;
  }

 private:
  struct Bank {
    std::int64_t row = -1, opened = 0, column = 0, closable = 0;
  };
  struct Channel {
    std::int64_t free = 0, refresh = 0;
    bool wrote = false;
    std::vector<Bank> banks;
  };

  Bank& bank(Channel& c, std::int64_t at) const {
    return c.banks[static_cast<std::size_t>(at / t_.row_bytes % t_.banks)];
  }

  Timing t_;
  std::vector<Channel> channels_;
};

class Memory {
 public:
  static constexpr unsigned kEntities = 16;

  /// `rate`: bytes per cycle of all ports together; `stall_percent`: chance that a channel withholds its handshake.
  /// `segments` outlive it.
  Memory(const Segments& segments, unsigned ports, unsigned beat, unsigned latency, double rate, unsigned stall_percent,
         std::uint64_t seed)
      : beat_(beat),
        latency_(latency),
        rate_(rate),
        stall_(stall_percent),
        random_(seed),
        segments_(&segments),
        ports_(ports) {}

  /// From the next run on memory has banks.
  void banks(const Dram::Timing& t) { dram_.emplace(t); }

  /// A run starts in `ahead` cycles, nothing being in flight: by then memory has rested, and asks channel `turn` first
  /// (reads of port 0, 1, ..., then writes).
  void begin(unsigned ahead, unsigned turn) {
    const auto channels = 2 * static_cast<unsigned>(ports_.size());
    tokens_ = kDepth * static_cast<double>(ports_.size()) * beat_;
    turn_ = (turn + channels * (ahead / channels + 1) - ahead) % channels;
    const std::int64_t passed = time() + Dram::kUnit * std::int64_t{ahead};
    origin_ = now_ + ahead;
    // Times are the run's: what the one before has left in flight, such as programs read ahead, keeps its moment.
    for (Port& p : ports_)
      for (Burst& b : p.reads) b.ready -= passed;
    if (dram_) dram_->begin();
  }

  /// What is still in flight is answered without touching the caller's memory: reads give anything.
  void forget_segments() {
    for (Port& p : ports_)
      for (auto* bursts : {&p.reads, &p.writes})
        for (Burst& b : *bursts) b.data = nullptr;
  }

  /// Forgets what is in flight.
  void reset() {
    for (auto& p : ports_) p = {};
  }

  std::uint64_t now() const { return now_; }
  /// Beats that have crossed the ports, ever.
  std::uint64_t beats() const { return beats_; }
  const Traffic& traffic(unsigned entity) const { return traffic_[entity]; }
  void clear_traffic() { traffic_ = {}; }

  /// Decides what every port is offered in this cycle.
  void offer() {
    const auto n = static_cast<unsigned>(ports_.size());
    tokens_ = std::min(tokens_ + rate_, kDepth * n * beat_);
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
    b.ready += dram_ ? dram_->pace() : 0;
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
      std::uint64_t answer = now_ + latency_;
      if (dram_) {
        const std::int64_t data = dram_->schedule(time(), b.addr, b.beats, beat_, true);
        answer = std::max(answer, cycle(data + b.beats * dram_->pace()));
      }
      p.acknowledgements.emplace_back(answer, b.error);
      p.writes.pop_front();
    }
  }
  void acknowledgement_taken(unsigned port) {
    ports_[port].acknowledgements.pop_front();
    ports_[port].offer.bvalid = false;
  }
  void read_request(unsigned port, std::uint64_t addr, unsigned beats) {
    Burst b = locate(addr, beats);
    b.ready = dram_ ? dram_->schedule(time(), addr, beats, beat_, false) + dram_->pace()
                    : time() + Dram::kUnit * std::int64_t{latency_};
    ports_[port].reads.push_back(b);
  }
  void write_request(unsigned port, std::uint64_t addr, unsigned beats) {
    ports_[port].writes.push_back(locate(addr, beats));
  }

  void end_cycle() { ++now_; }

 private:
  /// Bursts that a port takes before the first of them has ended.
  static constexpr std::size_t kQueue = 64;
  /// Cycles of all ports at work that simple memory can make up for when it has rested.
  static constexpr double kDepth = 2.0;

  struct Burst {
    std::int64_t ready;  // when the next beat may move, in 1/256 cycle of the run
    std::uint64_t addr;
    std::uint8_t* data;  // null: there is nothing to move
    unsigned beats, left, entity;
    bool error;
  };
  struct Port {
    std::deque<Burst> reads, writes;
    std::deque<std::pair<std::uint64_t, bool>> acknowledgements;  // cycle, error
    Offer offer;
  };

  Burst locate(std::uint64_t addr, unsigned beats) const {
    const std::uint64_t size = std::uint64_t{beats} * beat_;
    const Segment* s = segments_->find(addr, size);
    if (s == nullptr) return {0, addr, nullptr, beats, beats, 0, true};
    return {0, addr, s->data + (addr - s->addr), beats, beats, s->entity, false};
  }
  /// Now, in 1/256 cycle of the run.
  std::int64_t time() const { return Dram::kUnit * static_cast<std::int64_t>(now_ - origin_); }
  /// The cycle, of all, in which a time of the run is past.
  std::uint64_t cycle(std::int64_t time) const {
    return origin_ + static_cast<std::uint64_t>((time + Dram::kUnit - 1) / Dram::kUnit);
  }
  bool stalls() { return stall_ != 0 && random_() % 100 < stall_; }

  void offer_read(Port& p) {
    p.offer.fresh = false;
    if (p.offer.rvalid) return;  // an offered beat stays until it is taken
    if (p.reads.empty() || p.reads.front().ready > time() || lacks_tokens() || stalls()) return;
    const Burst& b = p.reads.front();
    p.offer.fresh = p.offer.rvalid = true;
    p.offer.rdata = b.data;
    p.offer.rerror = b.error;
    p.offer.rlast = b.left == 1;
    tokens_ -= beat_;
  }
  void offer_write(Port& p) { p.offer.wready = !p.writes.empty() && !lacks_tokens() && !stalls(); }
  bool lacks_tokens() const { return !dram_ && tokens_ < beat_; }

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
  std::uint64_t now_ = 0, origin_ = 0, beats_ = 0;
  std::optional<Dram> dram_;
  const Segments* segments_;
  std::vector<Port> ports_;
  std::array<Traffic, kEntities> traffic_;
};

}  // namespace ringforge::sim

#endif

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A Verilated machine behind a small C interface: control registers by AXI4-Lite transfers, DRAM (memory.hpp) behind
// the data ports. Everything passes through the pins of the machine's top, which have the same names in all machines
// (docs/adding.md). machine.hpp is made by ringforge.hw.core.build: it includes the top's header and says
// RF_PORTS, RF_BEAT (bytes of a beat) and RF_ADDR (bits of an address).
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "memory.hpp"
#include "rf_registers.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

using ringforge::sim::Memory;
using ringforge::sim::Offer;
using ringforge::sim::Segments;
using ringforge::sim::Traffic;

constexpr unsigned kPorts = RF_PORTS, kBeat = RF_BEAT;
/// Cycles after which an access to a register counts as never answered.
constexpr unsigned kPatience = 10'000;
static_assert(kPorts >= 1 && kBeat >= 8 && (kBeat & (kBeat - 1)) == 0, "ports move 8 bytes or a multiple");

template <class T>
std::uint8_t* bytes_of(T& wide) {
  return reinterpret_cast<std::uint8_t*>(&wide);
}
/// Field `i` of `width` bits in a packed vector.
template <class T>
std::uint64_t field(T& packed, unsigned i, unsigned width) {
  std::uint64_t value = 0;
  const std::uint8_t* p = bytes_of(packed);
  for (unsigned b = 0; b < width; ++b) {
    const unsigned bit = i * width + b;
    value |= std::uint64_t((p[bit / 8] >> (bit % 8)) & 1) << b;
  }
  return value;
}
template <class T>
void set_bit(T& packed, unsigned bit, bool value) {
  std::uint8_t* p = bytes_of(packed);
  p[bit / 8] = static_cast<std::uint8_t>((p[bit / 8] & ~(1u << (bit % 8))) | (unsigned(value) << (bit % 8)));
}
template <class T>
void set_resp(T& packed, unsigned i, bool error) {
  set_bit(packed, 2 * i, false);
  set_bit(packed, 2 * i + 1, error);
}

class Simulation {
 public:
  Simulation(unsigned latency, double rate, unsigned stall_percent, std::uint64_t seed)
      : stall_(stall_percent), seed_(seed) {
    const unsigned all = kPorts;
    memories(1, &all, &latency, &rate);
    context_.traceEverOn(VM_TRACE != 0);
    context_.randReset(2);  // registers that nothing resets start with random contents
    context_.randSeed(static_cast<int>(seed & 0x7fffffff) + 1);
    top_ = std::make_unique<Vtop>(&context_);
    reset();
  }
  ~Simulation() {
#if VM_TRACE
    if (trace_) trace_->close();
#endif
    top_->final();
  }

  /// Memories behind the ports in turn, `ports` of them each: kPorts in all.
  void memories(unsigned count, const unsigned* ports, const unsigned* latency, const double* rate) {
    memories_.clear();
    places_.clear();
    for (unsigned m = 0; m < count; ++m) {
      memories_.emplace_back(segments_, ports[m], kBeat, latency[m], rate[m], stall_, seed_ + m);
      for (unsigned n = 0; n < ports[m]; ++n) places_.emplace_back(m, n);
    }
  }
  Memory& memory(unsigned m) { return memories_[m]; }
  void begin(unsigned ahead, unsigned turn) {
    for (Memory& m : memories_) m.begin(ahead, turn);
  }
  Segments& segments() { return segments_; }
  void unmap_all() {
    segments_.unmap_all();
    for (Memory& m : memories_) m.forget_segments();
  }
  std::uint64_t beats() const {
    std::uint64_t sum = 0;
    for (const Memory& m : memories_) sum += m.beats();
    return sum;
  }
  Traffic traffic(unsigned entity) const {
    Traffic sum;
    for (const Memory& m : memories_) {
      sum.read += m.traffic(entity).read;
      sum.written += m.traffic(entity).written;
    }
    return sum;
  }
  void clear_traffic() {
    for (Memory& m : memories_) m.clear_traffic();
  }

  void reset() {
    top_->rst_ni = 0;
    for (Memory& m : memories_) m.reset();
    drive_idle();
    for (int i = 0; i < 5; ++i) cycle();
    top_->rst_ni = 1;
    cycle();
    // irq_o says when a run has ended.
    write_register(RF_REG_GIE, RF_GIE_ENABLE);
    write_register(RF_REG_IER, RF_IER_DONE);
  }

  bool trace(const char* path) {
#if VM_TRACE
    trace_ = std::make_unique<VerilatedVcdC>();
    top_->trace(trace_.get(), 99);
    trace_->open(path);
    return trace_->isOpen();
#else
    (void)path;
    return false;
#endif
  }

  /// 0: done; 1: the machine answered with an error; 2: it does not answer.
  int write_register(std::uint32_t addr, std::uint32_t value) {
    top_->s_axil_awaddr = static_cast<std::uint16_t>(addr);
    top_->s_axil_wdata = value;
    top_->s_axil_wstrb = 15;
    top_->s_axil_awvalid = top_->s_axil_wvalid = top_->s_axil_bready = 1;
    for (unsigned n = 0; n < kPatience; ++n) {
      settle();
      const bool aw = top_->s_axil_awvalid && top_->s_axil_awready, w = top_->s_axil_wvalid && top_->s_axil_wready;
      const bool done = !top_->s_axil_awvalid && !top_->s_axil_wvalid && top_->s_axil_bvalid;
      const bool error = top_->s_axil_bresp != 0;
      cycle();
      if (aw) top_->s_axil_awvalid = 0;
      if (w) top_->s_axil_wvalid = 0;
      if (done) {
        top_->s_axil_bready = 0;
        return error;
      }
    }
    top_->s_axil_awvalid = top_->s_axil_wvalid = top_->s_axil_bready = 0;
    return 2;
  }
  /// As `write_register`.
  int read_register(std::uint32_t addr, std::uint32_t* value) {
    top_->s_axil_araddr = static_cast<std::uint16_t>(addr);
    top_->s_axil_arvalid = top_->s_axil_rready = 1;
    for (unsigned n = 0; n < kPatience; ++n) {
      settle();
      const bool ar = top_->s_axil_arvalid && top_->s_axil_arready;
      const bool done = !top_->s_axil_arvalid && top_->s_axil_rvalid;
      const bool error = top_->s_axil_rresp != 0;
      *value = top_->s_axil_rdata;
      cycle();
      if (ar) top_->s_axil_arvalid = 0;
      if (done) {
        top_->s_axil_rready = 0;
        return error;
      }
    }
    top_->s_axil_arvalid = top_->s_axil_rready = 0;
    return 2;
  }

  /// Advances until the interrupt line is high, at most `limit` cycles; true when it is.
  bool run(std::uint64_t limit) {
    for (std::uint64_t i = 0; i < limit; ++i) {
      if (top_->irq_o) return true;
      cycle();
    }
    return top_->irq_o;
  }

 private:
  void drive_idle() {
    top_->m_axi_arready = top_->m_axi_awready = top_->m_axi_wready = top_->m_axi_rvalid = top_->m_axi_bvalid = 0;
    top_->m_axi_bid = 0;
    top_->s_axil_awvalid = top_->s_axil_wvalid = top_->s_axil_arvalid = top_->s_axil_bready = top_->s_axil_rready = 0;
  }
  void settle() {
    top_->clk_i = 0;
    top_->eval();
  }

  /// Lets memory offer, the design settle and both take what came about, and clocks the design.
  void cycle() {
    if (top_->rst_ni) {
      for (Memory& m : memories_) m.offer();
      for (unsigned i = 0; i < kPorts; ++i) drive(i, offered(i));
    }
    settle();
    if (top_->rst_ni)
      for (unsigned i = 0; i < kPorts; ++i) transfer(i, offered(i));
#if VM_TRACE
    if (trace_) trace_->dump(2 * memories_[0].now());
#endif
    top_->clk_i = 1;
    top_->eval();
#if VM_TRACE
    if (trace_) trace_->dump(2 * memories_[0].now() + 1);
#endif
    for (Memory& m : memories_) m.end_cycle();
  }

  const Offer& offered(unsigned i) const { return memories_[places_[i].first].offered(places_[i].second); }

  void drive(unsigned i, const Offer& o) {
    set_bit(top_->m_axi_arready, i, o.arready);
    set_bit(top_->m_axi_awready, i, o.awready);
    set_bit(top_->m_axi_wready, i, o.wready);
    set_bit(top_->m_axi_rvalid, i, o.rvalid);
    set_bit(top_->m_axi_bvalid, i, o.bvalid);
    if (o.bvalid) set_resp(top_->m_axi_bresp, i, o.berror);
    if (!o.fresh) return;
    if (o.rdata) std::memcpy(bytes_of(top_->m_axi_rdata) + i * kBeat, o.rdata, kBeat);
    set_resp(top_->m_axi_rresp, i, o.rerror);
    set_bit(top_->m_axi_rlast, i, o.rlast);
    set_bit(top_->m_axi_rid, i, false);
  }
  void transfer(unsigned i, const Offer& o) {
    Memory& memory = memories_[places_[i].first];
    const unsigned n = places_[i].second;
    if (o.rvalid && field(top_->m_axi_rready, i, 1)) memory.read_taken(n);
    if (o.wready && field(top_->m_axi_wvalid, i, 1))
      memory.write_taken(n, bytes_of(top_->m_axi_wdata) + i * kBeat, bytes_of(top_->m_axi_wstrb) + i * kBeat / 8);
    if (o.bvalid && field(top_->m_axi_bready, i, 1)) memory.acknowledgement_taken(n);
    if (o.arready && field(top_->m_axi_arvalid, i, 1))
      memory.read_request(n, field(top_->m_axi_araddr, i, RF_ADDR), unsigned(field(top_->m_axi_arlen, i, 8)) + 1);
    if (o.awready && field(top_->m_axi_awvalid, i, 1))
      memory.write_request(n, field(top_->m_axi_awaddr, i, RF_ADDR), unsigned(field(top_->m_axi_awlen, i, 8)) + 1);
  }

  VerilatedContext context_;
  std::unique_ptr<Vtop> top_;
#if VM_TRACE
  std::unique_ptr<VerilatedVcdC> trace_;
#endif
  unsigned stall_;
  std::uint64_t seed_;
  Segments segments_;
  std::vector<Memory> memories_;
  std::vector<std::pair<unsigned, unsigned>> places_;  // memory, and port of it, by port
};

Simulation* self(void* handle) { return static_cast<Simulation*>(handle); }

}  // namespace

extern "C" {

/// A machine after reset, with one memory. `rate`: bytes per cycle of all ports together; `stall_percent`: chance that
/// a channel withholds its handshake in a cycle (0 except in tests).
void* rf_sim_open(unsigned latency, double rate, unsigned stall_percent, std::uint64_t seed) {
  return new Simulation(latency, rate, stall_percent, seed);
}
/// Memories of their own in place of one: the first `ports[0]` ports have the first, and so on. Before anything else.
void rf_sim_memories(void* h, unsigned count, const unsigned* ports, const unsigned* latency, const double* rate) {
  self(h)->memories(count, ports, latency, rate);
}
/// A memory with banks in place of latency and rate: the numbers of `Timing` in ringforge.hw.core.memory.
void rf_sim_banks(void* h, unsigned memory, const std::int64_t* n) {
  self(h)->memory(memory).banks({n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12]});
}
/// A run starts in `ahead` cycles: memory is as if it had rested, and asks channel `turn` first in that cycle.
void rf_sim_begin(void* h, unsigned ahead, unsigned turn) { self(h)->begin(ahead, turn); }
void rf_sim_close(void* h) { delete self(h); }
void rf_sim_reset(void* h) { self(h)->reset(); }
/// Memory of the caller at a DRAM address; it must stay alive until unmapped or closed. entity < 16.
void rf_sim_map(void* h, std::uint64_t addr, void* data, std::uint64_t size, unsigned entity) {
  self(h)->segments().map({addr, size, static_cast<std::uint8_t*>(data), entity});
}
void rf_sim_unmap_all(void* h) { self(h)->unmap_all(); }
/// Accesses to registers: 0 done, 1 answered with an error, 2 not answered.
int rf_sim_write(void* h, std::uint32_t addr, std::uint32_t value) { return self(h)->write_register(addr, value); }
int rf_sim_read(void* h, std::uint32_t addr, std::uint32_t* value) { return self(h)->read_register(addr, value); }
int rf_sim_run(void* h, std::uint64_t limit) { return self(h)->run(limit); }
std::uint64_t rf_sim_bytes_read(void* h, unsigned entity) { return self(h)->traffic(entity).read; }
std::uint64_t rf_sim_bytes_written(void* h, unsigned entity) { return self(h)->traffic(entity).written; }
/// Beats that have crossed the ports since the machine was opened.
std::uint64_t rf_sim_beats(void* h) { return self(h)->beats(); }
void rf_sim_clear_traffic(void* h) { self(h)->clear_traffic(); }
int rf_sim_trace(void* h, const char* path) { return self(h)->trace(path); }
}

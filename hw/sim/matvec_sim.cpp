// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The Verilated matvec accelerator behind a small C interface: control registers by AXI4-Lite transfers, DRAM as
// AXI4 memory behind the data ports. Everything passes through the pins of matvec_top.
//
// DRAM: segments of the caller's memory at given addresses, each belonging to an entity for which bytes are counted.
// Reads answer after `latency` cycles, in order per port; all ports together move at most `rate` bytes per cycle, a
// beat at a time in turn. An access outside every segment is answered with SLVERR.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "Vmatvec.h"
#include "rf_registers.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

constexpr unsigned kPorts = RF_PORTS, kBeat = RF_BEAT, kEntities = 16;

struct Segment {
  std::uint64_t addr, size;
  std::uint8_t* data;
  unsigned entity;
};
struct Burst {
  std::uint64_t ready;  // first cycle in which it may move
  std::uint8_t* data;   // null: bus error
  unsigned left, entity;
};
struct Traffic {
  std::uint64_t read = 0, written = 0;
};

template <class T>
std::uint8_t* bytes_of(T& wide) {
  return reinterpret_cast<std::uint8_t*>(&wide);
}
/// Field `i` of `width` bits (a multiple of 8, or up to 8 bits) in a packed vector.
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

class Simulation {
 public:
  Simulation(unsigned latency, double rate, unsigned stall_percent, std::uint64_t seed)
      : latency_(latency), rate_(rate), stall_(stall_percent), random_(seed) {
    context_.traceEverOn(VM_TRACE != 0);
    context_.randReset(2);  // registers that nothing resets start with random contents
    context_.randSeed(static_cast<int>(seed & 0x7fffffff) + 1);
    top_ = std::make_unique<Vmatvec>(&context_);
    reset();
  }
  ~Simulation() {
#if VM_TRACE
    if (trace_) trace_->close();
#endif
    top_->final();
  }

  void map(const Segment& s) {
    segments_.push_back(s);
    std::sort(segments_.begin(), segments_.end(), [](auto& a, auto& b) { return a.addr < b.addr; });
  }
  void unmap_all() { segments_.clear(); }

  void reset() {
    top_->rst_ni = 0;
    for (auto& p : ports_) p = {};
    drive_idle();
    for (int i = 0; i < 5; ++i) cycle();
    top_->rst_ni = 1;
    cycle();
    write_quietly(RF_REG_GIE, RF_GIE_ENABLE);
    write_quietly(RF_REG_IER, RF_IER_DONE);
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

  void write_register(std::uint32_t addr, std::uint32_t value) {
    if (addr == RF_REG_CTRL && value & RF_CTRL_START) write_quietly(RF_REG_ISR, RF_ISR_DONE);
    top_->s_axil_awaddr = static_cast<std::uint16_t>(addr);
    top_->s_axil_wdata = value;
    top_->s_axil_wstrb = 15;
    top_->s_axil_awvalid = top_->s_axil_wvalid = 1;
    top_->s_axil_bready = 1;
    while (top_->s_axil_awvalid || top_->s_axil_wvalid) {
      settle();
      const bool aw = top_->s_axil_awvalid && top_->s_axil_awready, w = top_->s_axil_wvalid && top_->s_axil_wready;
      cycle();
      if (aw) top_->s_axil_awvalid = 0;
      if (w) top_->s_axil_wvalid = 0;
    }
    for (bool done = false; !done;) {
      settle();
      done = top_->s_axil_bvalid;
      cycle();
    }
    top_->s_axil_bready = 0;
  }
  /// A write of our own: the turn of the ports stays, so that runs do not depend on it.
  void write_quietly(std::uint32_t addr, std::uint32_t value) {
    const unsigned turn = turn_;
    write_register(addr, value);
    turn_ = turn;
  }
  std::uint32_t read_register(std::uint32_t addr) {
    top_->s_axil_araddr = static_cast<std::uint16_t>(addr);
    top_->s_axil_arvalid = 1;
    top_->s_axil_rready = 1;
    while (top_->s_axil_arvalid) {
      settle();
      const bool ar = top_->s_axil_arready;
      cycle();
      if (ar) top_->s_axil_arvalid = 0;
    }
    std::uint32_t value = 0;
    for (bool done = false; !done;) {
      settle();
      done = top_->s_axil_rvalid;
      value = top_->s_axil_rdata;
      cycle();
    }
    top_->s_axil_rready = 0;
    return value;
  }

  /// Advances until the interrupt line is high, at most `limit` cycles; true when it is.
  bool run(std::uint64_t limit) {
    for (std::uint64_t i = 0; i < limit; ++i) {
      if (top_->irq_o) return true;
      cycle();
    }
    return top_->irq_o;
  }

  std::uint64_t now() const { return now_; }
  const Traffic& traffic(unsigned entity) const { return traffic_[entity]; }
  void clear_traffic() { traffic_ = {}; }

 private:
  struct Port {
    std::deque<Burst> reads, writes;
    std::deque<std::pair<std::uint64_t, bool>> acknowledgements;  // cycle, error
    bool r_offered = false, w_offered = false, b_offered = false, ar_offered = false, aw_offered = false;
  };

  Burst locate(std::uint64_t addr, unsigned beats) {
    const std::uint64_t size = std::uint64_t{beats} * kBeat;
    auto it = std::upper_bound(segments_.begin(), segments_.end(), addr, [](auto a, auto& s) { return a < s.addr; });
    if (it == segments_.begin()) return {now_ + latency_, nullptr, beats, 0};
    --it;
    if (addr + size > it->addr + it->size) return {now_ + latency_, nullptr, beats, 0};
    return {now_ + latency_, it->data + (addr - it->addr), beats, it->entity};
  }
  bool stalls() { return stall_ != 0 && random_() % 100 < stall_; }

  void drive_idle() {
    top_->m_axi_arready = top_->m_axi_awready = top_->m_axi_wready = top_->m_axi_rvalid = top_->m_axi_bvalid = 0;
    top_->m_axi_bid = 0;
    top_->s_axil_awvalid = top_->s_axil_wvalid = top_->s_axil_arvalid = top_->s_axil_bready = top_->s_axil_rready = 0;
  }
  void settle() {
    top_->clk_i = 0;
    top_->eval();
  }

  /// Decides what memory offers in this cycle, lets the design settle, and clocks it.
  void cycle() {
    if (top_->rst_ni) {
      tokens_ = std::min(tokens_ + rate_, 2.0 * kPorts * kBeat);
      // Two passes, so that reads and writes of all ports take turns for the bandwidth.
      for (unsigned k = 0; k < 2 * kPorts; ++k) {
        const unsigned i = (k + turn_) % (2 * kPorts);
        if (i < kPorts)
          offer_read(i);
        else
          offer_write(i - kPorts);
      }
      turn_ = (turn_ + 1) % (2 * kPorts);
      for (unsigned i = 0; i < kPorts; ++i) {
        Port& p = ports_[i];
        p.ar_offered = p.reads.size() < 64 && !stalls();
        p.aw_offered = p.writes.size() < 64 && !stalls();
        set_bit(top_->m_axi_arready, i, p.ar_offered);
        set_bit(top_->m_axi_awready, i, p.aw_offered);
        p.b_offered =
            !p.acknowledgements.empty() && p.acknowledgements.front().first <= now_ && (p.b_offered || !stalls());
        set_bit(top_->m_axi_bvalid, i, p.b_offered);
        if (p.b_offered) set_resp(top_->m_axi_bresp, i, p.acknowledgements.front().second);
      }
    }
    settle();
    if (top_->rst_ni)
      for (unsigned i = 0; i < kPorts; ++i) transfer(i);
#if VM_TRACE
    if (trace_) trace_->dump(2 * now_);
#endif
    top_->clk_i = 1;
    top_->eval();
#if VM_TRACE
    if (trace_) trace_->dump(2 * now_ + 1);
#endif
    ++now_;
  }

  template <class T>
  void set_resp(T& packed, unsigned i, bool error) {
    set_bit(packed, 2 * i, false);
    set_bit(packed, 2 * i + 1, error);
  }

  void offer_read(unsigned i) {
    Port& p = ports_[i];
    if (!p.r_offered) {  // an offered beat stays until it is taken
      if (!p.reads.empty() && p.reads.front().ready <= now_ && tokens_ >= kBeat && !stalls()) {
        Burst& b = p.reads.front();
        if (b.data) std::memcpy(bytes_of(top_->m_axi_rdata) + i * kBeat, b.data, kBeat);
        set_resp(top_->m_axi_rresp, i, b.data == nullptr);
        set_bit(top_->m_axi_rlast, i, b.left == 1);
        set_bit(top_->m_axi_rid, i, false);
        tokens_ -= kBeat;
        p.r_offered = true;
      }
    }
    set_bit(top_->m_axi_rvalid, i, p.r_offered);
  }
  void offer_write(unsigned i) {
    Port& p = ports_[i];
    p.w_offered = !p.writes.empty() && tokens_ >= kBeat && !stalls();
    set_bit(top_->m_axi_wready, i, p.w_offered);
  }

  void transfer(unsigned i) {
    Port& p = ports_[i];
    if (p.r_offered && field(top_->m_axi_rready, i, 1)) {
      Burst& b = p.reads.front();
      if (b.data) {
        b.data += kBeat;
        traffic_[b.entity].read += kBeat;
      }
      if (--b.left == 0) p.reads.pop_front();
      p.r_offered = false;
    }
    if (p.w_offered && field(top_->m_axi_wvalid, i, 1)) {
      Burst& b = p.writes.front();
      tokens_ -= kBeat;
      if (b.data) {
        std::memcpy(b.data, bytes_of(top_->m_axi_wdata) + i * kBeat, kBeat);
        b.data += kBeat;
        traffic_[b.entity].written += kBeat;
      }
      if (--b.left == 0) {
        p.acknowledgements.emplace_back(now_ + latency_, b.data == nullptr);
        p.writes.pop_front();
      }
    }
    if (p.b_offered && field(top_->m_axi_bready, i, 1)) {
      p.acknowledgements.pop_front();
      p.b_offered = false;
    }
    if (p.ar_offered && field(top_->m_axi_arvalid, i, 1))
      p.reads.push_back(locate(field(top_->m_axi_araddr, i, 48), unsigned(field(top_->m_axi_arlen, i, 8)) + 1));
    if (p.aw_offered && field(top_->m_axi_awvalid, i, 1))
      p.writes.push_back(locate(field(top_->m_axi_awaddr, i, 48), unsigned(field(top_->m_axi_awlen, i, 8)) + 1));
  }

  VerilatedContext context_;
  std::unique_ptr<Vmatvec> top_;
#if VM_TRACE
  std::unique_ptr<VerilatedVcdC> trace_;
#endif
  unsigned latency_;
  double rate_, tokens_ = 0;
  unsigned stall_, turn_ = 0;
  std::mt19937_64 random_;
  std::uint64_t now_ = 0;
  std::vector<Segment> segments_;
  std::array<Port, kPorts> ports_;
  std::array<Traffic, kEntities> traffic_;
};

Simulation* self(void* handle) { return static_cast<Simulation*>(handle); }

}  // namespace

extern "C" {

/// A machine after reset. `rate`: bytes per cycle of all ports together; `stall_percent`: chance that a channel
/// withholds its handshake in a cycle (0 except in tests).
void* rf_sim_open(unsigned latency, double rate, unsigned stall_percent, std::uint64_t seed) {
  return new Simulation(latency, rate, stall_percent, seed);
}
void rf_sim_close(void* h) { delete self(h); }
void rf_sim_reset(void* h) { self(h)->reset(); }
/// Memory of the caller at a DRAM address; it must stay alive until unmapped or closed. entity < 16.
void rf_sim_map(void* h, std::uint64_t addr, void* data, std::uint64_t size, unsigned entity) {
  self(h)->map({addr, size, static_cast<std::uint8_t*>(data), entity});
}
void rf_sim_unmap_all(void* h) { self(h)->unmap_all(); }
void rf_sim_write(void* h, std::uint32_t addr, std::uint32_t value) { self(h)->write_register(addr, value); }
std::uint32_t rf_sim_read(void* h, std::uint32_t addr) { return self(h)->read_register(addr); }
int rf_sim_run(void* h, std::uint64_t limit) { return self(h)->run(limit); }
std::uint64_t rf_sim_bytes_read(void* h, unsigned entity) { return self(h)->traffic(entity).read; }
std::uint64_t rf_sim_bytes_written(void* h, unsigned entity) { return self(h)->traffic(entity).written; }
void rf_sim_clear_traffic(void* h) { self(h)->clear_traffic(); }
int rf_sim_trace(void* h, const char* path) { return self(h)->trace(path); }
}

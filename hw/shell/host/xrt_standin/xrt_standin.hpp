// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A stand-in for XRT: the few classes of its native C++ interface that rf_card_host.cpp uses, by the same names, over a
// simulated machine. Our own, written from XRT's public documentation; it is no part of XRT and drives no card. It lets
// the host program compile, run and be tested where there is neither XRT nor a card.
//
// What it takes for an xclbin is a text of lines "key value": `kernel` its name, `library` the machine's simulation
// (interface rf_sim_*, hw/sim), `ports` their number, `latency` and `rate` of memory (cycles, bytes per cycle),
// `cycles_per_ms` the machine's clock, `interrupts` 0 or 1. Device and host memory are apart until they are
// synchronised. Time passes only in waits (as many cycles as the milliseconds have) and with each register that is
// read.
#ifndef RINGFORGE_XRT_STANDIN_HPP
#define RINGFORGE_XRT_STANDIN_HPP

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE = 1 };

namespace xrt_standin {

/// Bases of ports begin here among the kernel's registers (rf_card_control), 8 bytes each.
constexpr std::uint32_t kBases = 0x1000;
constexpr std::uint32_t kCtrl = 0x00;
constexpr std::uint64_t kFirstAddress = 0x4'0000'0000, kPage = 4096;
/// Cycles that pass with each register that is read.
constexpr std::uint64_t kReadCycles = 2000;

struct Settings {
  std::map<std::string, std::string> values;

  explicit Settings(const std::string& path) {
    std::ifstream file(path);
    std::string key, value;
    while (file >> key >> value) values[key] = value;
    if (values.count("library") == 0) throw std::runtime_error(path + " is no xclbin of the stand-in");
  }
  const std::string& text(const std::string& key) const { return values.at(key); }
  double number(const std::string& key) const { return std::stod(values.at(key)); }
};

struct Buffer {
  std::uint64_t address;
  std::vector<std::uint8_t> host, device;
};

/// The card: one simulated machine and its buffers.
class Card {
 public:
  void load(const std::string& path) {
    settings_ = std::make_unique<Settings>(path);
    library_ = dlopen(settings_->text("library").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    machine_ = function<void*(unsigned, double, unsigned, std::uint64_t)>("rf_sim_open")(
        static_cast<unsigned>(settings_->number("latency")), settings_->number("rate"), 0, 1);
    bases_.assign(static_cast<std::size_t>(settings_->number("ports")), 0);
  }
  ~Card() {
    if (machine_ != nullptr) function<void(void*)>("rf_sim_close")(machine_);
  }
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const Settings& settings() const { return *settings_; }

  std::shared_ptr<Buffer> allocate(std::size_t size) {
    auto buffer = std::make_shared<Buffer>(
        Buffer{next_, std::vector<std::uint8_t>(size, 0xee), std::vector<std::uint8_t>(size, 0xdd)});
    next_ += (size + kPage - 1) / kPage * kPage + kPage;
    buffers_.push_back(buffer);
    return buffer;
  }

  void write(std::uint32_t address, std::uint32_t value) {
    if (address >= kBases) {
      std::uint64_t& base = bases_.at((address - kBases) / 8);
      const unsigned shift = address % 8 == 4 ? 32 : 0;
      base = (base & ~(std::uint64_t{0xffffffff} << shift)) | static_cast<std::uint64_t>(value) << shift;
      return;
    }
    if (address == kCtrl && (value & 1) != 0) place_buffers();
    if (function<int(void*, std::uint32_t, std::uint32_t)>("rf_sim_write")(machine_, address, value) != 0)
      throw std::runtime_error("the machine refuses a register write");
  }
  std::uint32_t read(std::uint32_t address) {
    if (address >= kBases)
      return static_cast<std::uint32_t>(bases_.at((address - kBases) / 8) >> (address % 8 == 4 ? 32 : 0));
    advance(kReadCycles);
    std::uint32_t value = 0;
    if (function<int(void*, std::uint32_t, std::uint32_t*)>("rf_sim_read")(machine_, address, &value) != 0)
      throw std::runtime_error("the machine refuses a register read");
    return value;
  }
  /// Lets so many cycles pass, fewer if the interrupt line rises; whether it is high.
  bool advance(std::uint64_t cycles) {
    return function<int(void*, std::uint64_t)>("rf_sim_run")(machine_, cycles) != 0;
  }

 private:
  template <class F>
  F* function(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("the simulation lacks ") + name);
    return reinterpret_cast<F*>(found);
  }

  /// What the bridge does on a card: the machine's address 0 is where the bases say.
  void place_buffers() {
    for (std::uint64_t base : bases_)
      if (base != bases_[0]) throw std::runtime_error("the stand-in has one memory: all ports need one base");
    function<void(void*)>("rf_sim_unmap_all")(machine_);
    for (const auto& weak : buffers_)
      if (const auto buffer = weak.lock(); buffer && buffer->address >= bases_[0])
        function<void(void*, std::uint64_t, void*, std::uint64_t, unsigned)>("rf_sim_map")(
            machine_, buffer->address - bases_[0], buffer->device.data(), buffer->device.size(), 0);
  }

  std::unique_ptr<Settings> settings_;
  void* library_ = nullptr;
  void* machine_ = nullptr;
  std::vector<std::uint64_t> bases_;
  std::vector<std::weak_ptr<Buffer>> buffers_;
  std::uint64_t next_ = kFirstAddress;
};

}  // namespace xrt_standin

namespace xrt {

class uuid {};

class device {
 public:
  explicit device(unsigned index) : card_(std::make_shared<xrt_standin::Card>()) {
    if (index != 0) throw std::runtime_error("no device of this number");
  }
  uuid load_xclbin(const std::string& path) {
    card_->load(path);
    return {};
  }
  const std::shared_ptr<xrt_standin::Card>& card() const { return card_; }

 private:
  std::shared_ptr<xrt_standin::Card> card_;
};

class xclbin {
 public:
  class mem {
   public:
    bool get_used() const { return true; }
    std::int32_t get_index() const { return 0; }
  };
  explicit xclbin(const std::string& path) : settings_(path) {}
  std::vector<mem> get_mems() const { return {mem{}}; }

 private:
  xrt_standin::Settings settings_;
};

class bo {
 public:
  bo(const device& device, std::size_t size, unsigned bank) : buffer_(device.card()->allocate(size)) {
    if (bank != 0) throw std::runtime_error("no memory of this number");
  }
  std::uint64_t address() const { return buffer_->address; }
  template <class T>
  T map() {
    return reinterpret_cast<T>(buffer_->host.data());
  }
  void sync(xclBOSyncDirection direction, std::size_t size, std::size_t offset) {
    if (offset > buffer_->host.size() || size > buffer_->host.size() - offset)
      throw std::runtime_error("synchronising more than the buffer");
    auto& to = direction == XCL_BO_SYNC_BO_TO_DEVICE ? buffer_->device : buffer_->host;
    const auto& from = direction == XCL_BO_SYNC_BO_TO_DEVICE ? buffer_->host : buffer_->device;
    std::memcpy(to.data() + offset, from.data() + offset, size);
  }

 private:
  std::shared_ptr<xrt_standin::Buffer> buffer_;
};

class ip {
 public:
  class interrupt {
   public:
    explicit interrupt(std::shared_ptr<xrt_standin::Card> card) : card_(std::move(card)) {}
    std::cv_status wait(const std::chrono::duration<std::int32_t, std::milli>& timeout) const {
      const double cycles = static_cast<double>(timeout.count()) * card_->settings().number("cycles_per_ms");
      return card_->advance(static_cast<std::uint64_t>(cycles)) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

   private:
    std::shared_ptr<xrt_standin::Card> card_;
  };

  ip(const device& device, const uuid&, const std::string& name) : card_(device.card()) {
    if (name != card_->settings().text("kernel")) throw std::runtime_error("no kernel " + name + " in the xclbin");
  }
  void write_register(std::uint32_t offset, std::uint32_t value) { card_->write(offset, value); }
  std::uint32_t read_register(std::uint32_t offset) const { return card_->read(offset); }
  interrupt create_interrupt_notify() {
    if (card_->settings().number("interrupts") == 0) throw std::runtime_error("not supported by the stand-in");
    return interrupt(card_);
  }

 private:
  std::shared_ptr<xrt_standin::Card> card_;
};

}  // namespace xrt

#endif

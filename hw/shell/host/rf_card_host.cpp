// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Runs a job on a card: loads the kernel, fills the card's memory, starts the machine, waits for its interrupt, and
// compares memory with what the job expects. Written for XRT's native interface and a kernel of `ringforge hw package`.
//
// NEVER RUN ON A CARD. The tests run this very program against xrt_standin, a simulated machine behind the few classes
// of XRT that are used here.
//
//   rf_card_host XCLBIN KERNEL JOB [--device N] [--bank N] [--timeout-ms N] [--poll]
//
// Ends with 0 if memory is as expected, 1 if it is not, 2 for arguments or files, 3 if the machine was not done in time
// and was aborted, 4 if it did not even abort, 5 if it stopped with an error, 6 for what XRT reports.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "experimental/xrt_ip.h"
#include "experimental/xrt_xclbin.h"
#include "rf_job.hpp"
#include "rf_registers.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"

namespace {

constexpr std::uint32_t kBases = 0x1000;
constexpr std::chrono::milliseconds kAbortTime{1000}, kPollPause{1};

enum Exit { done = 0, different = 1, arguments = 2, aborted = 3, stuck = 4, failed = 5, runtime = 6 };

struct Options {
  std::string xclbin, kernel, job;
  unsigned device = 0;
  std::optional<unsigned> bank;  // none: the first memory that the kernel is connected to
  std::chrono::milliseconds timeout{60000};
  bool poll = false;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

unsigned number(const std::string& text) {
  std::size_t used = 0;
  unsigned long value = 0;
  try {
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') value = std::stoul(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value > 0x7fffffff) throw UsageError(text + " is no number that fits");
  return static_cast<unsigned>(value);
}

Options parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--poll") {
      options.poll = true;
    } else if (word == "--device" || word == "--bank" || word == "--timeout-ms") {
      if (i + 1 == argc) throw UsageError(word + " needs a number");
      const unsigned value = number(argv[++i]);
      if (word == "--device") options.device = value;
      if (word == "--bank") options.bank = value;
      if (word == "--timeout-ms") options.timeout = std::chrono::milliseconds(value);
    } else if (word.rfind("--", 0) == 0) {
      throw UsageError("unknown option " + word);
    } else {
      places.push_back(word);
    }
  }
  if (places.size() != 3)
    throw UsageError("usage: rf_card_host XCLBIN KERNEL JOB [--device N] [--bank N] [--timeout-ms N] [--poll]");
  options.xclbin = places[0];
  options.kernel = places[1];
  options.job = places[2];
  return options;
}

/// The machine's registers.
class Machine {
 public:
  Machine(const xrt::device& device, const xrt::uuid& uuid, const std::string& kernel) : ip_(device, uuid, kernel) {}

  std::uint32_t read(std::uint32_t address) const { return ip_.read_register(address); }
  void write(std::uint32_t address, std::uint32_t value) { ip_.write_register(address, value); }
  std::uint64_t read_wide(std::uint32_t address) const {
    return read(address) | static_cast<std::uint64_t>(read(address + 4)) << 32;
  }
  void write_wide(std::uint32_t address, std::uint64_t value) {
    write(address, static_cast<std::uint32_t>(value));
    write(address + 4, static_cast<std::uint32_t>(value >> 32));
  }
  bool busy() const { return (read(RF_REG_STATUS) & RF_STATUS_BUSY) != 0; }

  /// Waits until it is not busy, looking now and then.
  bool poll(std::chrono::milliseconds limit) const {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (busy()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(kPollPause);
    }
    return true;
  }

  /// Waits for the interrupt of the run's end; where there are none, or after a false one, it looks now and then.
  bool wait(std::chrono::milliseconds limit, bool interrupts) {
    if (!interrupts) return poll(limit);
    const auto end = std::chrono::steady_clock::now() + limit;
    interrupt_->wait(std::chrono::duration<std::int32_t, std::milli>(limit.count()));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    return poll(std::max(left, std::chrono::milliseconds(0)));
  }

  /// Whether XRT can wait for this kernel's interrupt: not all its versions do so for kernels that programs drive.
  bool listen() {
    try {
      interrupt_.emplace(ip_.create_interrupt_notify());
      return true;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "no interrupts (%s): polling\n", e.what());
      return false;
    }
  }

 private:
  xrt::ip ip_;
  std::optional<xrt::ip::interrupt> interrupt_;
};

const char* words_of(std::uint32_t code) {
  switch (code) {
    case RF_CODE_BUS:
      return "a memory port answered with an error";
    case RF_CODE_WATCHDOG:
      return "not done within the watchdog's cycles";
    case RF_CODE_ABORTED:
      return "aborted";
    default:
      return "see the machine's README";
  }
}

unsigned first_used_bank(const std::string& path) {
  const xrt::xclbin file{path};
  for (const auto& memory : file.get_mems())
    if (memory.get_used()) return static_cast<unsigned>(memory.get_index());
  throw std::runtime_error("the xclbin connects the kernel to no memory; name one with --bank");
}

void fill(xrt::bo& memory, const rf::Job& job) {
  std::uint8_t* bytes = memory.map<std::uint8_t*>();
  std::memset(bytes, 0, job.size);
  for (const rf::Segment& s : job.segments)
    if (s.kind == rf::Kind::load) std::memcpy(bytes + s.address, s.data, s.size);
  memory.sync(XCL_BO_SYNC_BO_TO_DEVICE, job.size, 0);
}

/// Bytes that are not as expected, and the address of the first.
std::pair<std::uint64_t, std::uint64_t> compare(xrt::bo& memory, const rf::Job& job) {
  std::pair<std::uint64_t, std::uint64_t> found{0, 0};
  const std::uint8_t* bytes = memory.map<std::uint8_t*>();
  for (const rf::Segment& s : job.segments) {
    if (s.kind != rf::Kind::expect) continue;
    memory.sync(XCL_BO_SYNC_BO_FROM_DEVICE, s.size, s.address);
    for (std::uint64_t i = 0; i < s.size; ++i)
      if (bytes[s.address + i] != s.data[i] && found.first++ == 0) found.second = s.address + i;
  }
  return found;
}

void report(const Machine& machine) {
  const auto print = [&](const char* name, std::uint32_t address) {
    std::printf("%s %llu\n", name, static_cast<unsigned long long>(machine.read_wide(address)));
  };
  print("cycles", RF_REG_CYCLES);
  print("beats read", RF_REG_READ_BEATS);
  print("beats written", RF_REG_WRITE_BEATS);
  print("cycles waited for data", RF_REG_READ_WAITS);
  print("cycles waited to write", RF_REG_WRITE_WAITS);
}

Exit run(const Options& options) {
  const rf::Job job = rf::read_job(options.job);
  xrt::device device{options.device};
  const xrt::uuid uuid = device.load_xclbin(options.xclbin);
  Machine machine{device, uuid, options.kernel};

  const auto must = [&](std::uint32_t address, std::uint32_t value, const char* what) {
    const std::uint32_t found = machine.read(address);
    if (found == value) return;
    char text[128];
    std::snprintf(text, sizeof text, "%s is %08x, the job needs %08x: another kernel, or another configuration", what,
                  found, value);
    throw rf::JobError(text);
  };
  must(RF_REG_ID, job.identity, "the kernel's ID");
  must(RF_REG_VERSION, RF_MAP_VERSION, "the version of its registers");
  must(RF_REG_SHAPE, job.shape, "its SHAPE");
  if (machine.busy()) throw std::runtime_error("the kernel is busy: reset the card, or wait");

  xrt::bo memory{device, static_cast<std::size_t>(job.size),
                 options.bank ? *options.bank : first_used_bank(options.xclbin)};
  fill(memory, job);
  const std::uint32_t ports = machine.read(RF_REG_PORTS) & RF_PORTS_COUNT;
  for (std::uint32_t n = 0; n < ports; ++n) machine.write_wide(kBases + 8 * n, memory.address());
  machine.write_wide(RF_REG_PROGRAM, job.program);
  machine.write(RF_REG_STRIDE, static_cast<std::uint32_t>(job.stride / 4096));
  machine.write_wide(RF_REG_WATCHDOG, job.watchdog);
  machine.write(RF_REG_ISR, machine.read(RF_REG_ISR));  // what is left of earlier runs
  const bool interrupts = !options.poll && machine.listen();
  machine.write(RF_REG_IER, interrupts ? RF_IER_DONE : 0);
  machine.write(RF_REG_GIE, interrupts ? RF_GIE_ENABLE : 0);

  machine.write(RF_REG_CTRL, RF_CTRL_START);
  if (!machine.wait(options.timeout, interrupts)) {
    std::fprintf(stderr, "not done after %lld ms: aborting\n", static_cast<long long>(options.timeout.count()));
    machine.write(RF_REG_COMMAND, RF_COMMAND_ABORT);
    if (!machine.poll(kAbortTime)) {
      std::fprintf(stderr, "memory does not answer: reset the card\n");
      return stuck;
    }
    return aborted;
  }
  machine.write(RF_REG_ISR, RF_ISR_DONE);
  if (machine.read(RF_REG_STATUS) & RF_STATUS_ERROR) {
    const std::uint32_t error = machine.read(RF_REG_ERROR);
    const std::uint32_t code = error & RF_ERROR_CODE;
    std::fprintf(stderr, "the machine stopped with error %u (%s), element %u, after %u instructions\n", code,
                 words_of(code), (error & RF_ERROR_ELEMENT) >> RF_ERROR_ELEMENT_LSB, machine.read(RF_REG_PC));
    return failed;
  }
  report(machine);
  const auto [wrong, first] = compare(memory, job);
  if (wrong != 0) {
    std::fprintf(stderr, "%llu bytes differ, the first at %llx\n", static_cast<unsigned long long>(wrong),
                 static_cast<unsigned long long>(first));
    return different;
  }
  std::printf("as expected\n");
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const UsageError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return arguments;
  } catch (const rf::JobError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return arguments;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return runtime;
  }
}

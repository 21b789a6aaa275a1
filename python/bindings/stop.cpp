// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Ends a service that was told to stop and does not: needs neither the interpreter nor its lock.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <system_error>
#include <thread>

#include "bindings.hpp"

namespace bindings {
namespace {

using Clock = std::chrono::steady_clock;

/// A thread of the C++ side that reads the numbers of signals from a pipe, which Python's own signal handlers write at
/// once, whatever the interpreter does (`signal.set_wakeup_fd`). It ends the process when the time after one is over.
class StopGuard {
 public:
  StopGuard(double seconds, double hurried) : seconds_(checked(seconds)), hurried_(checked(hurried)) {
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0)
      throw ringforge::Error("no pipe for signals: " + std::system_category().message(errno) +
                             ": close other programs, or raise the limit of open files (ulimit -n)");
    thread_ = std::thread([this] { watch(); });
  }
  StopGuard(const StopGuard&) = delete;
  ~StopGuard() { close(); }

  int descriptor() const noexcept { return pipe_[1]; }

  void close() noexcept {
    if (!thread_.joinable()) return;
    over_ = true;
    wake();
    thread_.join();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

 private:
  static Clock::duration checked(double seconds) {
    if (!(seconds >= 0 && seconds <= 1e7))
      throw ringforge::ParameterError("seconds to stop are outside 0 ... 10^7: give fewer");
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  }

  void wake() noexcept {
    const unsigned char none = 0;
    [[maybe_unused]] const auto written = ::write(pipe_[1], &none, 1);  // a full pipe wakes as well
  }

  void watch() noexcept {
    std::optional<Clock::time_point> end;
    while (!over_) {
      int wait = -1;
      if (end) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
        if (left <= 0) give_up();
        wait = static_cast<int>(left);
      }
      pollfd ready{pipe_[0], POLLIN, 0};
      if (::poll(&ready, 1, wait) <= 0) continue;
      unsigned char numbers[64];
      const auto count = ::read(pipe_[0], numbers, sizeof numbers);
      for (ssize_t i = 0; i < count; ++i) {
        if (numbers[i] != SIGTERM && numbers[i] != SIGINT) continue;
        const auto now = Clock::now();
        end = end ? std::min(*end, now + hurried_) : now + seconds_;
      }
    }
  }

  [[noreturn]] static void give_up() noexcept {
    static constexpr char line[] = "{\"event\": \"killed\", \"result\": \"did not stop in time\"}\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, sizeof line - 1);
    ::_exit(1);
  }

  Clock::duration seconds_, hurried_;
  int pipe_[2] = {-1, -1};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

void bind_stop(nb::module_& m) {
  nb::class_<StopGuard>(
      m, "StopGuard",
      "Ends the process with exit code 1 when it goes on for too long after SIGTERM or SIGINT, even if "
      "something holds the interpreter's lock.")
      .def(nb::init<double, double>(), "seconds"_a, "hurried"_a,
           "seconds: after the first signal. hurried: after a second one.")
      .def_prop_ro("descriptor", &StopGuard::descriptor, "For signal.set_wakeup_fd, until `close`.")
      .def("close", &StopGuard::close, "Takes the guard away.");
}

}  // namespace bindings

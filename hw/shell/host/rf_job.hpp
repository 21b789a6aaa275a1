// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reader of job files: one run of a machine, as `ringforge.hw.core.card_job` writes it, which describes the format.
// A file is read whole and checked whole before anything of it is used.
#ifndef RINGFORGE_JOB_HPP
#define RINGFORGE_JOB_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rf {

/// A job file that is not as its format has it.
class JobError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Kind : std::uint32_t { load = 0, clear = 1, expect = 2 };

struct Segment {
  Kind kind;
  std::uint64_t address, size;
  const std::uint8_t* data;  // null if cleared; else `size` bytes of the job
};

/// One run of a machine; segments point into `bytes`, so a job is moved, not copied.
struct Job {
  std::uint32_t identity = 0, shape = 0;
  std::uint64_t size = 0, program = 0, stride = 0, watchdog = 0;
  std::vector<Segment> segments;
  std::vector<std::uint8_t> bytes;

  Job() = default;
  Job(Job&&) = default;
  Job& operator=(Job&&) = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

namespace detail {

constexpr std::uint64_t kPage = 4096, kHeader = 64, kRow = 32, kSumFrom = 16;
/// More memory than any card has: sums of two such numbers do not overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

inline std::uint64_t number(const std::uint8_t* p, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{p[i]} << (8 * i);
  return value;
}

/// CRC-32 as in zlib.
inline std::uint32_t crc32(const std::uint8_t* p, std::size_t size) {
  std::array<std::uint32_t, 256> table;
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  std::uint32_t c = 0xffffffffu;
  for (std::size_t i = 0; i < size; ++i) c = table[(c ^ p[i]) & 0xff] ^ (c >> 8);
  return ~c;
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw JobError("not a job file: " + what);
}

}  // namespace detail

/// Checks a job file's content and finds its segments.
///
/// Throws JobError, which says what is wrong.
inline Job parse_job(std::vector<std::uint8_t> bytes) {
  using namespace detail;
  static constexpr std::uint8_t magic[8] = {'R', 'F', 'C', 'J', 'O', 'B', 0, 0};
  require(bytes.size() >= kHeader && std::memcmp(bytes.data(), magic, 8) == 0, "it does not begin as one");
  const std::uint8_t* p = bytes.data();
  require(number(p + 8, 4) == 1, "version " + std::to_string(number(p + 8, 4)) + ", this program reads version 1");
  require(number(p + 12, 4) == crc32(p + kSumFrom, bytes.size() - kSumFrom), "its checksum does not hold");

  Job job;
  job.identity = static_cast<std::uint32_t>(number(p + 16, 4));
  job.shape = static_cast<std::uint32_t>(number(p + 20, 4));
  job.size = number(p + 24, 8);
  job.program = number(p + 32, 8);
  job.stride = number(p + 40, 8);
  job.watchdog = number(p + 48, 8);
  const std::uint64_t count = number(p + 56, 4);
  require(job.size != 0 && job.size % kPage == 0 && job.size < kMostBytes, "its memory is no number of pages");
  require(job.program % kPage == 0 && job.program < job.size, "its programs lie outside its memory");
  require(job.stride % kPage == 0 && job.stride / kPage < 65536, "the distance of its programs is none");
  require(job.watchdog < kMostBytes, "its watchdog has more than 48 bits");
  require(number(p + 60, 4) == 0, "reserved bytes are not zero");
  require(count <= (bytes.size() - kHeader) / kRow, "its table is cut off");

  std::uint64_t place = kHeader + kRow * count;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken, written;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint8_t* row = p + kHeader + kRow * i;
    const std::string where = "segment " + std::to_string(i) + ": ";
    const std::uint64_t address = number(row, 8), size = number(row + 8, 8), at = number(row + 16, 8);
    const std::uint64_t kind = number(row + 24, 4);
    require(kind <= 2 && number(row + 28, 4) == 0, where + "unknown kind");
    require(address % 8 == 0 && size % 8 == 0 && size != 0, where + "no whole words");
    require(address < job.size && size <= job.size - address, where + "outside the job's memory");
    Segment segment{static_cast<Kind>(kind), address, size, nullptr};
    if (segment.kind == Kind::clear) {
      require(at == 0, where + "cleared memory has data");
    } else {
      require(at == place && size <= bytes.size() - place, where + "its data are cut off or elsewhere");
      segment.data = p + at;
      place += size;
    }
    if (segment.kind != Kind::expect) {
      require(address % kPage == 0, where + "does not start at a page");
      taken.emplace_back(address, address + size);
    }
    if (segment.kind == Kind::clear) written.emplace_back(address, address + size);
    job.segments.push_back(segment);
  }
  require(place == bytes.size(), "there is something behind its data");
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) require(taken[i].first >= taken[i - 1].second, "segments overlap");
  for (const Segment& s : job.segments)
    if (s.kind == Kind::expect)
      require(std::any_of(written.begin(), written.end(),
                          [&](const auto& w) { return w.first <= s.address && s.address + s.size <= w.second; }),
              "it expects what the machine does not write");
  job.bytes = std::move(bytes);  // keeps its place, and so do the segments' data
  return job;
}

/// Reads a job file. Throws JobError.
inline Job read_job(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw JobError("cannot read " + path);
  const std::streamoff size = file.tellg();
  if (size < 0) throw JobError("cannot read " + path);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) throw JobError("cannot read " + path);
  return parse_job(std::move(bytes));
}

}  // namespace rf

#endif

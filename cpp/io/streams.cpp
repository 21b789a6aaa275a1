// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Streams: reading with every failure noticed, and streams over memory.
#include "header.hpp"
#include "ringforge/error.hpp"

namespace ringforge::io {

std::size_t detail::get(std::istream& in, void* dst, std::size_t bytes) {
  // Straight from the buffer: the stream's state and its exception mask stay out of it.
  if (in.fail() || in.rdbuf() == nullptr) throw Error("the input stream has failed: was the file opened?");
  std::size_t done = 0;
  try {
    while (done < bytes) {
      const auto n = in.rdbuf()->sgetn(static_cast<char*>(dst) + done, static_cast<std::streamsize>(bytes - done));
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
  } catch (const std::ios_base::failure& e) {
    throw Error(std::string("reading failed: ") + e.what());
  }
  return done;
}

bool at_end(std::istream& in) {
  if (in.fail() || in.rdbuf() == nullptr) throw Error("the input stream has failed: was the file opened?");
  try {
    return in.rdbuf()->sgetc() == std::istream::traits_type::eof();
  } catch (const std::ios_base::failure& e) {
    throw Error(std::string("reading failed: ") + e.what());
  }
}

Extent extent(std::istream& in) {
  std::streamoff position = -1, end = -1;
  if (!in.fail() && in.rdbuf() != nullptr) {
    position = in.rdbuf()->pubseekoff(0, std::ios_base::cur, std::ios_base::in);
    if (position >= 0) end = in.rdbuf()->pubseekoff(0, std::ios_base::end, std::ios_base::in);
  }
  if (position < 0 || end < 0) throw Error("looking into records needs a stream that can seek: open the file itself");
  seek(in, static_cast<u64>(position));
  return {static_cast<u64>(position), static_cast<u64>(end)};
}

void seek(std::istream& in, u64 position) {
  const auto at = static_cast<std::streamoff>(position);
  if (in.rdbuf()->pubseekpos(std::streampos(at), std::ios_base::in) != std::streampos(at))
    throw Error("the input stream cannot seek to byte " + std::to_string(position));
}

ByteSource::Buffer::Buffer(std::span<const std::uint8_t> bytes) {
  // A get area is only read.
  auto* p = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  setg(p, p, p + bytes.size());
}

ByteSource::pos_type ByteSource::Buffer::seekoff(off_type off, std::ios_base::seekdir dir, std::ios_base::openmode) {
  const off_type size = egptr() - eback();
  const off_type from = dir == std::ios_base::beg ? 0 : dir == std::ios_base::end ? size : gptr() - eback();
  if (off < -from || off > size - from) return pos_type(off_type(-1));
  setg(eback(), eback() + from + off, egptr());
  return pos_type(from + off);
}

ByteSource::pos_type ByteSource::Buffer::seekpos(pos_type pos, std::ios_base::openmode which) {
  return seekoff(off_type(pos), std::ios_base::beg, which);
}

ByteSink::Buffer::Buffer(std::span<std::uint8_t> bytes) {
  auto* p = reinterpret_cast<char*>(bytes.data());
  setp(p, p + bytes.size());
}

}  // namespace ringforge::io

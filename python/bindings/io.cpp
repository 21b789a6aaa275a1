// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Files and byte strings of records.
#include "ringforge/io.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

#include "bindings.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::ckks;

[[noreturn]] void raise_os_error(const std::string& path) {
  errno = errno == 0 ? EIO : errno;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw nb::python_error();
}

/// Writes records to a file one after the other. Threads take turns, record by record.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path) {
    unlocked([&] { out_.open(path, std::ios::binary | std::ios::trunc); });
    if (!out_) raise_os_error(path_);
  }
  template <class T>
  void write(const Context& ctx, const T& object) {
    const std::lock_guard turn(mutex_);
    io::save(out_, ctx, object);
  }
  void write_parameters(const Parameters& p) {
    const std::lock_guard turn(mutex_);
    io::save(out_, p);
  }
  void close() {
    {
      const nb::gil_scoped_release release;  // the turn must not be waited for with the interpreter's lock
      const std::lock_guard turn(mutex_);
      out_.close();
    }
    if (!out_) raise_os_error(path_);
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::ofstream out_;
};

/// Reads records from a file one after the other. Threads take turns, call by call.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    unlocked([&] { in_.open(path, std::ios::binary); });
    if (!in_) raise_os_error(path);
  }
  template <class F>
  auto turn(F f) {
    const std::lock_guard turn(mutex_);
    return f(static_cast<std::istream&>(in_));
  }

 private:
  std::mutex mutex_;
  std::ifstream in_;
};

template <class T>
nb::bytes to_bytes(const Context& ctx, const T& object) {
  std::vector<std::uint8_t> buffer(io::saved_size(ctx, object));
  const std::size_t written = unlocked([&] {
    io::ByteSink sink(buffer);
    io::save(sink, ctx, object);
    return sink.written();
  });
  nb::bytes result(buffer.data(), written);
  wipe(buffer.data(), buffer.size());
  return result;
}

template <class F>
auto from_bytes(const nb::bytes& data, F load) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
  return unlocked([&] {
    io::ByteSource source(bytes);
    return load(source);
  });
}

}  // namespace

void bind_io(nb::module_& m) {
  auto s = m.def_submodule("io", "Records: versioned, checksummed, seed-compressed.");
  nb::class_<io::RecordInfo>(s, "RecordInfo", "What a record says of itself, before its body is read.")
      .def_prop_ro("type", [](const io::RecordInfo& r) { return std::string(io::name(r.type)); })
      .def_ro("version", &io::RecordInfo::version)
      .def_prop_ro("parameter_hash",
                   [](const io::RecordInfo& r) { return nb::bytes(r.parameter_hash.data(), r.parameter_hash.size()); })
      .def_ro("offset", &io::RecordInfo::offset)
      .def_prop_ro("bytes", &io::RecordInfo::bytes)
      .def_ro("word_bits", &io::RecordInfo::word_bits)
      .def_ro("limbs", &io::RecordInfo::limbs)
      .def_ro("parts", &io::RecordInfo::parts)
      .def_ro("digits", &io::RecordInfo::digits)
      .def_ro("seeded", &io::RecordInfo::seeded)
      .def_ro("key_id", &io::RecordInfo::key_id)
      .def_ro("element", &io::RecordInfo::element)
      .def_ro("scale", &io::RecordInfo::scale);

  nb::class_<Writer>(s, "Writer")
      .def(nb::init<const std::string&>(), "path"_a)
      .def("write", &Writer::write_parameters, GilReleased())
      .def("write", &Writer::write<Plaintext>, GilReleased())
      .def("write", &Writer::write<Ciphertext>, GilReleased())
      .def("write", &Writer::write<SecretKey>, GilReleased())
      .def("write", &Writer::write<PublicKey>, GilReleased())
      .def("write", &Writer::write<RelinKey>, GilReleased())
      .def("write", &Writer::write<GaloisKey>, GilReleased())
      .def("close", &Writer::close);
  nb::class_<Reader>(s, "Reader")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "peek", [](Reader& r) { return r.turn([](std::istream& in) { return io::peek(in); }); }, GilReleased())
      .def(
          "index", [](Reader& r) { return r.turn([](std::istream& in) { return io::index(in); }); }, GilReleased())
      .def(
          "verify", [](Reader& r) { return r.turn([](std::istream& in) { return io::verify(in); }); }, GilReleased())
      .def(
          "at_end",
          [](Reader& r) {
            return r.turn([](std::istream& in) { return in.rdbuf()->sgetc() == std::istream::traits_type::eof(); });
          },
          GilReleased())
      .def(
          "seek",
          [](Reader& r, u64 offset) {
            r.turn([&](std::istream& in) {
              in.clear();
              in.seekg(static_cast<std::streamoff>(offset));
            });
          },
          GilReleased())
      .def(
          "parameters", [](Reader& r) { return r.turn([](std::istream& in) { return io::load_parameters(in); }); },
          GilReleased())
      .def(
          "next_ciphertext",
          [](Reader& r, const Context& c, unsigned t) {
            return r.turn([&](std::istream& in) { return io::next_ciphertext(in, c, t); });
          },
          "context"_a, "threads"_a = 1, GilReleased())
      .def(
          "next_galois_key",
          [](Reader& r, const Context& c, unsigned t) {
            return r.turn([&](std::istream& in) { return io::next_galois_key(in, c, t); });
          },
          "context"_a, "threads"_a = 1, GilReleased())
      .def(
          "next_relin_key",
          [](Reader& r, const Context& c, unsigned t) {
            return r.turn([&](std::istream& in) { return io::next_relin_key(in, c, t); });
          },
          "context"_a, "threads"_a = 1, GilReleased())
      .def(
          "public_key",
          [](Reader& r, const Context& c) {
            return r.turn([&](std::istream& in) { return io::load_public_key(in, c); });
          },
          GilReleased())
      .def(
          "secret_key",
          [](Reader& r, const Context& c) {
            return r.turn([&](std::istream& in) { return io::load_secret_key(in, c); });
          },
          GilReleased());

  s.def("to_bytes", &to_bytes<Plaintext>);
  s.def("to_bytes", &to_bytes<Ciphertext>);
  s.def("to_bytes", &to_bytes<SecretKey>);
  s.def("to_bytes", &to_bytes<PublicKey>);
  s.def("to_bytes", &to_bytes<RelinKey>);
  s.def("to_bytes", &to_bytes<GaloisKey>);
  s.def("ciphertext_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_ciphertext(in, c); });
  });
  s.def("plaintext_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_plaintext(in, c); });
  });
  s.def("secret_key_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_secret_key(in, c); });
  });
  s.def("public_key_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_public_key(in, c); });
  });
  s.def("relin_key_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_relin_key(in, c); });
  });
  s.def("galois_key_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_galois_key(in, c); });
  });
}

}  // namespace bindings

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Files and byte strings of records.
#include "ringforge/ckks/io.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

#include "bindings.hpp"
#include "ringforge/bfv/io.hpp"
#include "ringforge/bgv/io.hpp"
#include "ringforge/circuits/omr_records.hpp"
#include "ringforge/circuits/psi.hpp"
#include "ringforge/circuits/psi_poly.hpp"
#include "ringforge/fhew/records.hpp"
#include "ringforge/ltv/io.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using namespace ringforge::ckks;

[[noreturn]] void raise_os_error(const std::string& path) {
  errno = errno == 0 ? EIO : errno;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw nb::python_error();
}

using ByteArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Writes records to a file one after the other. Threads take turns, record by record.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path) {
    unlocked([&] { out_.open(path, std::ios::binary | std::ios::trunc); });
    if (!out_) raise_os_error(path_);
  }
  template <class Context, class T>
  void write(const Context& ctx, const T& object) {
    const std::lock_guard turn(mutex_);
    io::save(out_, ctx, object);
  }
  template <class Parameters>
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

template <class Context, class T>
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

nb::bytes hash_bytes(const Hash& hash) { return nb::bytes(hash.data(), hash.size()); }

Hash to_hash(const nb::bytes& bytes) {
  Hash hash;
  if (bytes.size() != hash.size())
    throw ParameterError("a parameter hash has 32 bytes, not " + std::to_string(bytes.size()));
  std::memcpy(hash.data(), bytes.data(), hash.size());
  return hash;
}

std::span<const std::uint8_t> span(const nb::bytes& b) {
  return {static_cast<const std::uint8_t*>(b.data()), b.size()};
}

/// Files and byte strings of a scheme's objects; the keys are those of every scheme on RLWE.
template <class Context, class Ciphertext>
void bind_objects(nb::module_& s, nb::class_<Writer>& writer, nb::class_<Reader>& reader) {
  const auto both = [&]<class T>(std::type_identity<T>) {
    writer.def("write", &Writer::write<Context, T>, GilReleased());
    s.def("to_bytes", &to_bytes<Context, T>);
  };
  both(std::type_identity<Ciphertext>());
  both(std::type_identity<SecretKey>());
  both(std::type_identity<PublicKey>());
  both(std::type_identity<RelinKey>());
  both(std::type_identity<GaloisKey>());
  reader
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
  s.def("ciphertext_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_ciphertext(in, c); });
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

template <class Context, class Plaintext>
void bind_plaintext(nb::module_& s, nb::class_<Writer>& writer) {
  writer.def("write", &Writer::write<Context, Plaintext>, GilReleased());
  s.def("to_bytes", &to_bytes<Context, Plaintext>);
  s.def("plaintext_from_bytes", [](const nb::bytes& b, const Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_plaintext(in, c); });
  });
}

void bind_ltv_objects(nb::module_& s, nb::class_<Writer>& writer, nb::class_<Reader>& reader) {
  const auto both = [&]<class T>(std::type_identity<T>) {
    writer.def("write", &Writer::write<ltv::Context, T>, GilReleased());
    s.def("to_bytes", &to_bytes<ltv::Context, T>);
  };
  both(std::type_identity<ltv::Ciphertext>());
  both(std::type_identity<ltv::SecretKey>());
  both(std::type_identity<ltv::PublicKey>());
  both(std::type_identity<ltv::EvalKey>());
  reader
      .def(
          "next_ciphertext",
          [](Reader& r, const ltv::Context& c) {
            return r.turn([&](std::istream& in) { return io::next_ciphertext(in, c); });
          },
          "context"_a, GilReleased())
      .def(
          "eval_key",
          [](Reader& r, const ltv::Context& c) {
            return r.turn([&](std::istream& in) { return io::load_eval_key(in, c); });
          },
          "context"_a, GilReleased())
      .def(
          "eval_key_into",
          [](Reader& r, ltv::Relinearizer& to) {
            r.turn([&](std::istream& in) {
              io::load_eval_key(in, to);
              return 0;
            });
          },
          "relinearizer"_a, GilReleased(), "Reads an LTV evaluation key into a relinearizer, digit by digit.")
      .def(
          "public_key",
          [](Reader& r, const ltv::Context& c) {
            return r.turn([&](std::istream& in) { return io::load_public_key(in, c); });
          },
          GilReleased())
      .def(
          "secret_key",
          [](Reader& r, const ltv::Context& c) {
            return r.turn([&](std::istream& in) { return io::load_secret_key(in, c); });
          },
          GilReleased());
  s.def("ciphertext_from_bytes", [](const nb::bytes& b, const ltv::Context& c) {
    return from_bytes(b, [&](std::istream& in) { return io::load_ciphertext(in, c); });
  });
  s.def(
      "eval_key_into",
      [](const ByteArray& record, ltv::Relinearizer& to) {
        unlocked([&, bytes = std::span(record.data(), record.size())] {
          io::ByteSource source(bytes);
          io::load_eval_key(source, to);
          return 0;
        });
      },
      "record"_a, "relinearizer"_a, "As `Reader.eval_key_into`, from an array of bytes, which is not copied.");
}

nb::dict fields(const io::RecordInfo& info) {
  nb::dict out;
  for (const auto& [name, value] : info.fields) std::visit([&](auto v) { out[name.c_str()] = v; }, value);
  return out;
}

}  // namespace

void bind_io(nb::module_& m) {
  auto s = m.def_submodule("io", "Records: versioned, checksummed, seed-compressed.");
  nb::class_<io::RecordInfo>(s, "RecordInfo", "What a record says of itself, before its body is read.")
      .def_prop_ro("type", [](const io::RecordInfo& r) { return io::name(r.type); })
      .def_ro("code", &io::RecordInfo::type)
      .def_ro("version", &io::RecordInfo::version)
      .def_prop_ro("parameter_hash", [](const io::RecordInfo& r) { return hash_bytes(r.parameter_hash); })
      .def_ro("offset", &io::RecordInfo::offset)
      .def_ro("body_bytes", &io::RecordInfo::body_bytes)
      .def_prop_ro("bytes", &io::RecordInfo::bytes)
      .def_prop_ro("fields", &fields, nb::sig("def fields(self) -> dict[str, int | float]"),
                   "What the fixed fields say, by name; docs/formats.md has the names of each type.");
  s.attr("MAGIC") = nb::bytes(io::kMagic.data(), io::kMagic.size());
  s.attr("HEADER_BYTES") = io::kHeaderBytes;
  s.attr("FRAME_BYTES") = io::record_bytes(0);
  s.attr("HEAD_BYTES") = io::kMaxHeadBytes;
  s.attr("LABEL") = io::kLabelType;
  s.attr("OPRF_KEY") = io::kOprfKeyType;
  s.attr("RECEIVER_SECRET") = circuits::kReceiverSecretType;
  s.attr("DETECTION_KEY") = circuits::kDetectionKeyType;
  s.attr("RELIN_KEY") = kRelinKeyType;
  s.attr("GATE_SECRET_KEY") = fhew::kGateSecretKeyType;
  s.attr("GATE_EVALUATION_KEY") = fhew::kGateEvaluationKeyType;
  s.attr("GATE_BITS") = fhew::kGateBitsType;
  s.attr("PSI_KEYS") = circuits::kPsiKeysType;
  s.attr("PSI_REQUEST") = circuits::kPsiRequestType;
  s.attr("PSI_REPLY") = circuits::kPsiReplyType;
  s.attr("PSI_POLY_KEYS") = circuits::kPsiPolyKeysType;
  s.attr("PSI_POLY_REQUEST") = circuits::kPsiPolyRequestType;
  s.attr("PSI_POLY_REPLY") = circuits::kPsiPolyReplyType;
  s.def(
      "seal",
      [](io::TypeCode type, const nb::bytes& parameters, const nb::bytes& body) {
        const Hash hash = to_hash(parameters);
        nb::bytes record = nb::steal<nb::bytes>(
            PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(io::record_bytes(body.size()))));
        auto* data = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(record.ptr()));
        unlocked([&, from = span(body), whole = std::span(data, record.size())] {
          std::copy(from.begin(), from.end(), io::begin_record(whole, type, hash));
          io::seal_record(whole);
        });
        return record;
      },
      "type"_a, "parameters"_a, "body"_a, "A record of a body, for the parameters of this hash.");
  s.def(
      "unseal",
      [](const nb::bytes& record, io::TypeCode type) {
        const auto opened = unlocked([&, all = span(record)] { return io::open_record(all, type); });
        return nb::make_tuple(opened.header.version, hash_bytes(opened.header.hash),
                              nb::bytes(opened.body.data(), opened.body.size()));
      },
      "record"_a, "type"_a, nb::sig("def unseal(record: bytes, type: int) -> tuple[int, bytes, bytes]"),
      "Version, parameter hash and body of a record that stands alone, its checksum compared.");
  s.def(
      "peek", [](const nb::bytes& b) { return from_bytes(b, [](std::istream& in) { return io::peek(in); }); }, "data"_a,
      "What the record that these bytes begin with says of itself.");
  s.def(
      "secret_in",
      [](const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        if (!in) raise_os_error(path);
        return io::secret_in(in);
      },
      "path"_a, "The name of the first secret type among a file's records, or nothing.");

  nb::class_<Writer> writer(s, "Writer");
  writer.def(nb::init<const std::string&>(), "path"_a).def("close", &Writer::close);
  nb::class_<Reader> reader(s, "Reader");
  reader.def(nb::init<const std::string&>(), "path"_a)
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
          "next_bfv_parameters",
          [](Reader& r) { return r.turn([](std::istream& in) { return io::next_bfv_parameters(in); }); }, GilReleased())
      .def(
          "next_bgv_parameters",
          [](Reader& r) { return r.turn([](std::istream& in) { return io::next_bgv_parameters(in); }); },
          GilReleased());
  bind_plaintext<Context, Plaintext>(s, writer);
  bind_objects<Context, Ciphertext>(s, writer, reader);
  bind_plaintext<bfv::Context, bfv::Plaintext>(s, writer);
  bind_objects<bfv::Context, bfv::Ciphertext>(s, writer, reader);
  bind_objects<bgv::Context, bgv::Ciphertext>(s, writer, reader);
  bind_ltv_objects(s, writer, reader);
  reader.def(
      "next_ltv_parameters",
      [](Reader& r) { return r.turn([](std::istream& in) { return io::next_ltv_parameters(in); }); }, GilReleased());
  writer.def("write", &Writer::write_parameters<ltv::Parameters>, GilReleased());
  writer.def("write", &Writer::write_parameters<Parameters>, GilReleased())
      .def("write", &Writer::write_parameters<bfv::Parameters>, GilReleased())
      .def("write", &Writer::write_parameters<bgv::Parameters>, GilReleased());
}

}  // namespace bindings

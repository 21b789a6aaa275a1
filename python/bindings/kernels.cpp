// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel sets, one array operation each, for the conformance suite and benchmarks. Arrays are copied to
// aligned memory on the way in and out, and the contract's ranges are checked: kernels check nothing themselves.
#include <algorithm>
#include <chrono>

#include "bindings.hpp"
#include "ringforge/error.hpp"
#include "ringforge/kernels.hpp"
#include "ringforge/packing.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using kernels::Kernels;
using Out = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

WordBuffer aligned(const Words& a) {
  WordBuffer b(a.size());
  std::memcpy(b.data(), a.data(), a.size() * sizeof(u64));
  return b;
}
Out give(const WordBuffer& b) { return to_numpy<std::uint64_t>(b.data(), b.size()); }

const Kernels& set(const std::string& name) {
  if (const Kernels* k = kernels::find(name.c_str())) return *k;
  throw ParameterError("no kernel set \"" + name + "\" on this CPU");
}

void same_size(std::size_t a, std::size_t b) {
  if (a != b) throw ShapeError("arrays of different length: " + std::to_string(a) + " and " + std::to_string(b));
}

void whole_blocks(std::size_t n) {
  if (n % 16 != 0) throw ShapeError("an array of " + std::to_string(n) + " words: give a multiple of 16");
}

kernels::Modulus modulus(u64 q) {
  if (q % 2 == 0 || q <= u64{1} << 16 || q >> kernels::kMaxBits != 0)
    throw ParameterError("modulus " + std::to_string(q) + " must be odd, above 2^16 and below 2^" +
                         std::to_string(kernels::kMaxBits));
  return kernels::make_modulus(q);
}

/// `multiple` is that of a lazy range.
u64 below(u64 x, u64 q, unsigned multiple = 1) {
  if (x >= q * multiple)
    throw ValueError(std::to_string(x) + " is not below " + std::to_string(q * multiple) + ": reduce it first");
  return x;
}

/// An array of whole blocks, copied; every word below multiple * q, or any when q is 0.
WordBuffer residues(const Words& a, u64 q, unsigned multiple = 1) {
  whole_blocks(a.size());
  for (std::size_t i = 0; q != 0 && i < a.size(); ++i) below(a.data()[i], q, multiple);
  return aligned(a);
}

/// The ring of an array of N words.
Ring ring_of(std::size_t n) {
  unsigned log_n = 0;
  while (log_n < 63 && (std::size_t{1} << log_n) < n) ++log_n;
  const Ring ring = Ring::negacyclic(log_n);
  same_size(n, ring.degree());
  return ring;
}

struct Rows {
  std::vector<WordBuffer> data;
  std::vector<const u64*> ptr;
  /// Rows of n residues.
  Rows(const std::vector<Words>& rows, std::size_t n, u64 q) {
    for (const auto& r : rows) {
      same_size(r.size(), n);
      data.push_back(residues(r, q));
    }
    for (const auto& r : data) ptr.push_back(r.data());
  }
};

/// Rows of a conversion: one for each factor, at least one and at most 64.
std::size_t length_of(const std::vector<Words>& rows, std::size_t factors) {
  same_size(rows.size(), factors);
  if (rows.empty() || rows.size() > 64)
    throw ShapeError(std::to_string(rows.size()) + " rows: a conversion takes 1 ... 64");
  return rows[0].size();
}

}  // namespace

void bind_kernels(nb::module_& m) {
  auto k = m.def_submodule("kernels", "The kernel sets, operation by operation.");
  k.def("available", [] {
    std::vector<std::string> names;
    for (const auto* s : kernels::available()) names.emplace_back(s->name);
    return names;
  });
  k.def("active", [] { return std::string(kernels::active().name); });
  k.def(
      "psi", [](u64 q, unsigned log_n) { return Prime::get(q, Ring::negacyclic(log_n))->psi(); }, "q"_a, "log_n"_a,
      "Smallest primitive 2N-th root of unity modulo q.");
  k.def("eval_index", [](u64 g, unsigned log_n) {
    const auto index = Ring::negacyclic(log_n).eval_index(g);
    return to_numpy<u32>(index->data(), index->size());
  });
  k.def(
      "primes_below", [](unsigned bits, std::size_t count, u64 step) { return primes_below(bits, count, step); },
      "bits"_a, "count"_a, "step"_a, GilReleased());
  k.def("is_prime", &is_prime);

  const auto transform = [](const std::string& name, const Words& x, u64 q, bool forward) {
    const auto prime = Prime::get(q, ring_of(x.size()));
    const WordBuffer in = residues(x, q, forward ? 4 : 2);
    WordBuffer out(x.size());
    (forward ? set(name).ntt_forward : set(name).ntt_inverse)(out.data(), in.data(), prime->table());
    return give(out);
  };
  k.def("ntt", [transform](const std::string& s, const Words& x, u64 q) { return transform(s, x, q, true); });
  k.def("intt", [transform](const std::string& s, const Words& x, u64 q) { return transform(s, x, q, false); });

  k.def("ntt_lift", [](const std::string& s, const Words& x, u64 p, u64 q) {
    const auto prime = Prime::get(q, ring_of(x.size()));
    (void)modulus(p);
    WordBuffer out(x.size());
    set(s).ntt_forward_lift(out.data(), residues(x, p).data(), p, prime->table());
    return give(out);
  });

  k.def(
      "ntt_packed",
      [](const std::string& s, const nb::bytes& packed, unsigned bits, u64 p, std::size_t n, u64 q) {
        const auto prime = Prime::get(q, ring_of(n));
        (void)modulus(p);
        if (bits < 1 || bits > 32 || packed.size() != packed_bytes(n, bits))
          throw ShapeError("the residues are not packed at 1 to 32 bits each");
        WordBuffer out(n), work(n);
        set(s).ntt_packed_head(out.data(), work.data(), reinterpret_cast<const std::uint8_t*>(packed.data()), bits, p,
                               prime->table());
        set(s).ntt_finish(out.data(), 0, n, nullptr, prime->table());
        return give(out);
      },
      "name"_a, "packed"_a, "bits"_a, "p"_a, "n"_a, "q"_a);

  const auto binary = [&k](const char* name, auto member) {
    k.def(name, [member](const std::string& s, const Words& a, const Words& b, u64 q) {
      same_size(a.size(), b.size());
      const auto mod = modulus(q);
      const WordBuffer x = residues(a, q), y = residues(b, q);
      WordBuffer out(a.size());
      (set(s).*member)(out.data(), x.data(), y.data(), a.size(), mod);
      return give(out);
    });
  };
  binary("add", &Kernels::add);
  binary("sub", &Kernels::sub);
  binary("mul", &Kernels::mul);
  k.def("mul_add", [](const std::string& s, const Words& acc, const Words& a, const Words& b, u64 q) {
    same_size(acc.size(), a.size());
    same_size(a.size(), b.size());
    const auto mod = modulus(q);
    WordBuffer out = residues(acc, q);
    set(s).mul_add(out.data(), residues(a, q).data(), residues(b, q).data(), a.size(), mod);
    return give(out);
  });
  const auto unary = [&k](const char* name, auto member, bool canonical) {
    k.def(name, [member, canonical](const std::string& s, const Words& a, u64 q) {
      const auto mod = modulus(q);
      WordBuffer out(a.size());
      (set(s).*member)(out.data(), residues(a, canonical ? q : 0).data(), a.size(), mod);
      return give(out);
    });
  };
  unary("neg", &Kernels::neg, true);
  unary("reduce", &Kernels::reduce, false);
  k.def("reduce_signed",
        [](const std::string& s, nb::ndarray<const i64, nb::ndim<1>, nb::c_contig, nb::device::cpu> a, u64 q) {
          const auto mod = modulus(q);
          whole_blocks(a.size());
          for (std::size_t i = 0; i < a.size(); ++i)
            if (a.data()[i] >= i64{1} << 62 || a.data()[i] <= -(i64{1} << 62))
              throw ValueError(std::to_string(a.data()[i]) + " is not below 2^62 in size");
          WordBuffer out(a.size()), in(a.size());
          std::memcpy(in.data(), a.data(), a.size() * sizeof(i64));
          set(s).reduce_signed(out.data(), reinterpret_cast<const i64*>(in.data()), a.size(), mod);
          return give(out);
        });
  k.def("add_scalar", [](const std::string& s, const Words& a, u64 c, u64 q) {
    const auto mod = modulus(q);
    WordBuffer out(a.size());
    set(s).add_scalar(out.data(), residues(a, q).data(), below(c, q), a.size(), mod);
    return give(out);
  });
  k.def("mul_scalar", [](const std::string& s, const Words& a, u64 w, u64 q) {
    const auto mod = modulus(q);
    const WordBuffer x = residues(a, mod.bits <= kernels::kFastBits ? u64{1} << 52 : 0);
    WordBuffer out(a.size());
    set(s).mul_scalar(out.data(), x.data(), kernels::make_factor(below(w, q), mod), a.size(), mod);
    return give(out);
  });
  k.def("sub_mul_scalar", [](const std::string& s, const Words& a, const Words& b, u64 w, u64 q) {
    same_size(a.size(), b.size());
    const auto mod = modulus(q);
    WordBuffer out(a.size());
    set(s).sub_mul_scalar(out.data(), residues(a, q).data(), residues(b, q, 4).data(),
                          kernels::make_factor(below(w, q), mod), a.size(), mod);
    return give(out);
  });
  k.def("dot2", [](const std::string& s, const std::vector<Words>& x, const std::vector<Words>& y0,
                   const std::vector<Words>& y1, const Words& acc0, const Words& acc1, bool accumulate, u64 q) {
    same_size(x.size(), y0.size());
    same_size(x.size(), y1.size());
    same_size(acc0.size(), acc1.size());
    const auto mod = modulus(q);
    const std::size_t n = acc0.size();
    const Rows a(x, n, q), b(y0, n, q), c(y1, n, q);
    WordBuffer o0 = residues(acc0, q), o1 = residues(acc1, q);
    set(s).dot2(o0.data(), o1.data(), a.ptr.data(), b.ptr.data(), c.ptr.data(), x.size(), accumulate, n, mod);
    return std::pair(give(o0), give(o1));
  });
  k.def("matmul", [](const std::string& s, const Words& a, const Words& b, std::size_t rows, std::size_t cols, u64 q) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (rows % 16 != 0 || cols % 16 != 0 || rows == 0 || cols == 0 || rows > most || cols > most)
      throw ShapeError("rows and columns must be multiples of 16, up to 2^20");
    const auto mod = modulus(q);
    const std::size_t count = a.size() / rows;
    same_size(a.size(), count * rows);
    same_size(b.size(), count * cols);
    WordBuffer out(rows * cols);
    set(s).matmul(out.data(), cols, residues(a, q).data(), residues(b, q).data(), rows, cols, count, mod);
    return give(out);
  });
  k.def("automorphism_coeff", [](const std::string& s, const Words& a, u64 g, u64 q) {
    const auto mod = modulus(q);
    const Ring ring = ring_of(a.size());
    if (!ring.is_galois_element(g))
      throw ParameterError(std::to_string(g) + " is not odd and below " + std::to_string(ring.index()));
    WordBuffer out(a.size());
    set(s).automorphism_coeff(out.data(), residues(a, q).data(), g, a.size(), mod);
    return give(out);
  });
  k.def("automorphism_eval", [](const std::string& s, const Words& a, u64 g) {
    const auto index = ring_of(a.size()).eval_index(g);
    WordBuffer out(a.size());
    set(s).automorphism_eval(out.data(), aligned(a).data(), index->data(), a.size());
    return give(out);
  });
  k.def("automorphism_eval_add", [](const std::string& s, const Words& acc, const Words& a, u64 g, u64 q) {
    same_size(acc.size(), a.size());
    const auto mod = modulus(q);
    const auto index = ring_of(a.size()).eval_index(g);
    WordBuffer out = residues(acc, q);
    set(s).automorphism_eval_add(out.data(), residues(a, q).data(), index->data(), a.size(), mod);
    return give(out);
  });
  k.def("lift_centered", [](const std::string& s, const Words& a, u64 p, u64 q) {
    const auto mod = modulus(q);
    (void)modulus(p);
    WordBuffer out(a.size());
    set(s).lift_centered(out.data(), residues(a, p).data(), p, a.size(), mod);
    return give(out);
  });
  k.def("convert_quotient", [](const std::string& s, const std::vector<Words>& y, const std::vector<double>& inv) {
    const std::size_t n = length_of(y, inv.size());
    for (const double x : inv)
      if (!(x > 0 && x < 0x1p-16)) throw ValueError("the inverse of a modulus is above 0 and below 2^-16");
    const Rows rows(y, n, u64{1} << kernels::kMaxBits);
    WordBuffer v(n);
    set(s).convert_quotient(v.data(), rows.ptr.data(), inv.data(), y.size(), v.size());
    return give(v);
  });
  k.def(
      "base_convert",
      [](const std::string& s, const std::vector<Words>& y, const std::vector<u64>& c, unsigned bits,
         std::optional<Words> v, u64 p_mod_q, u64 q) {
        const auto mod = modulus(q);
        const std::size_t n = length_of(y, c.size());
        if (bits < 1 || bits > kernels::kMaxBits)
          throw ParameterError("rows of " + std::to_string(bits) + " bits: they have 1 ... " +
                               std::to_string(kernels::kMaxBits));
        for (const u64 x : c) below(x, q);
        const Rows rows(y, n, u64{1} << bits);
        WordBuffer out(n), vv;
        if (v) {
          same_size(v->size(), n);
          vv = residues(*v, u64{1} << 16);
        }
        set(s).base_convert(out.data(), rows.ptr.data(), c.data(), c.size(), bits, v ? vv.data() : nullptr,
                            below(p_mod_q, q), n, mod);
        return give(out);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());

  k.def("fft", [](const std::string& s, const Doubles& re, const Doubles& im, const Doubles& wr, const Doubles& wi,
                  bool forward) {
    same_size(re.size(), im.size());
    same_size(re.size(), wr.size());
    same_size(re.size(), wi.size());
    const std::size_t n = ring_of(re.size()).degree();
    WordBuffer a(n), b(n), c(n), d(n);
    std::memcpy(a.data(), re.data(), n * 8);
    std::memcpy(b.data(), im.data(), n * 8);
    std::memcpy(c.data(), wr.data(), n * 8);
    std::memcpy(d.data(), wi.data(), n * 8);
    kernels::FftTable t{n, 0, reinterpret_cast<double*>(c.data()), reinterpret_cast<double*>(d.data())};
    while ((std::size_t{1} << t.log_n) < n) ++t.log_n;
    auto* x = reinterpret_cast<double*>(a.data());
    auto* y = reinterpret_cast<double*>(b.data());
    (forward ? set(s).fft_forward : set(s).fft_inverse)(x, y, t);
    return std::pair(to_numpy<double>(x, n), to_numpy<double>(y, n));
  });
  k.def("scale_round", [](const std::string& s, const Doubles& x, double scale) -> nb::object {
    const std::size_t n = x.size();
    whole_blocks(n);
    WordBuffer in(n), out(n);
    std::memcpy(in.data(), x.data(), n * 8);
    if (!set(s).scale_round(reinterpret_cast<i64*>(out.data()), reinterpret_cast<double*>(in.data()), scale, n))
      return nb::none();
    return nb::cast(to_numpy<i64>(reinterpret_cast<i64*>(out.data()), n));
  });

  k.def(
      "time_ntt",
      [](const std::string& s, u64 q, unsigned log_n, bool forward, std::size_t repeat) {
        const auto prime = Prime::get(q, Ring::negacyclic(log_n));
        const Poly<Coeff> dummy(Basis(Ring::negacyclic(log_n), std::vector<u64>{q}));
        WordBuffer x(dummy.degree()), y(dummy.degree());
        for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = (i * 0x9e3779b97f4a7c15ULL) % q;
        const auto f = forward ? set(s).ntt_forward : set(s).ntt_inverse;
        f(y.data(), x.data(), prime->table());
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t r = 0; r < repeat; ++r) f(y.data(), x.data(), prime->table());
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
               static_cast<double>(repeat);
      },
      "set"_a, "q"_a, "log_n"_a, "forward"_a, "repeat"_a, GilReleased(),
      "Seconds of one transform, mean over `repeat`.");

  bind_ring_products(k);
  bind_small_kernels(k);
}

}  // namespace bindings

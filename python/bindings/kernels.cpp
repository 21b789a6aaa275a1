// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel sets, one array operation each, for the conformance suite and benchmarks. Arrays are copied to
// aligned memory on the way in and out; the contract's ranges are the caller's business.
#include <chrono>

#include "bindings.hpp"
#include "ringforge/error.hpp"
#include "ringforge/kernels.hpp"

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

struct Rows {
  std::vector<WordBuffer> data;
  std::vector<const u64*> ptr;
  explicit Rows(const std::vector<Words>& rows) {
    for (const auto& r : rows) data.push_back(aligned(r));
    for (const auto& r : data) ptr.push_back(r.data());
  }
};

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
    unsigned log_n = 0;
    while ((std::size_t{1} << log_n) < x.size()) ++log_n;
    const auto prime = Prime::get(q, Ring::negacyclic(log_n));
    same_size(x.size(), prime->table().n);
    const WordBuffer in = aligned(x);
    WordBuffer out(x.size());
    (forward ? set(name).ntt_forward : set(name).ntt_inverse)(out.data(), in.data(), prime->table());
    return give(out);
  };
  k.def("ntt", [transform](const std::string& s, const Words& x, u64 q) { return transform(s, x, q, true); });
  k.def("intt", [transform](const std::string& s, const Words& x, u64 q) { return transform(s, x, q, false); });

  k.def("ntt_lift", [](const std::string& s, const Words& x, u64 p, u64 q) {
    unsigned log_n = 0;
    while ((std::size_t{1} << log_n) < x.size()) ++log_n;
    const auto prime = Prime::get(q, Ring::negacyclic(log_n));
    same_size(x.size(), prime->table().n);
    WordBuffer out(x.size());
    set(s).ntt_forward_lift(out.data(), aligned(x).data(), p, prime->table());
    return give(out);
  });

  const auto binary = [&k](const char* name, auto member) {
    k.def(name, [member](const std::string& s, const Words& a, const Words& b, u64 q) {
      same_size(a.size(), b.size());
      const WordBuffer x = aligned(a), y = aligned(b);
      WordBuffer out(a.size());
      (set(s).*member)(out.data(), x.data(), y.data(), a.size(), kernels::make_modulus(q));
      return give(out);
    });
  };
  binary("add", &Kernels::add);
  binary("sub", &Kernels::sub);
  binary("mul", &Kernels::mul);
  k.def("mul_add", [](const std::string& s, const Words& acc, const Words& a, const Words& b, u64 q) {
    same_size(acc.size(), a.size());
    same_size(a.size(), b.size());
    WordBuffer out = aligned(acc);
    set(s).mul_add(out.data(), aligned(a).data(), aligned(b).data(), a.size(), kernels::make_modulus(q));
    return give(out);
  });
  const auto unary = [&k](const char* name, auto member) {
    k.def(name, [member](const std::string& s, const Words& a, u64 q) {
      WordBuffer out(a.size());
      (set(s).*member)(out.data(), aligned(a).data(), a.size(), kernels::make_modulus(q));
      return give(out);
    });
  };
  unary("neg", &Kernels::neg);
  unary("reduce", &Kernels::reduce);
  k.def("reduce_signed", [](const std::string& s, nb::ndarray<const i64, nb::ndim<1>, nb::c_contig> a, u64 q) {
    WordBuffer out(a.size()), in(a.size());
    std::memcpy(in.data(), a.data(), a.size() * sizeof(i64));
    set(s).reduce_signed(out.data(), reinterpret_cast<const i64*>(in.data()), a.size(), kernels::make_modulus(q));
    return give(out);
  });
  k.def("add_scalar", [](const std::string& s, const Words& a, u64 c, u64 q) {
    WordBuffer out(a.size());
    set(s).add_scalar(out.data(), aligned(a).data(), c, a.size(), kernels::make_modulus(q));
    return give(out);
  });
  k.def("mul_scalar", [](const std::string& s, const Words& a, u64 w, u64 q) {
    const auto mod = kernels::make_modulus(q);
    WordBuffer out(a.size());
    set(s).mul_scalar(out.data(), aligned(a).data(), kernels::make_factor(w, mod), a.size(), mod);
    return give(out);
  });
  k.def("sub_mul_scalar", [](const std::string& s, const Words& a, const Words& b, u64 w, u64 q) {
    same_size(a.size(), b.size());
    const auto mod = kernels::make_modulus(q);
    WordBuffer out(a.size());
    set(s).sub_mul_scalar(out.data(), aligned(a).data(), aligned(b).data(), kernels::make_factor(w, mod), a.size(),
                          mod);
    return give(out);
  });
  k.def("dot2", [](const std::string& s, const std::vector<Words>& x, const std::vector<Words>& y0,
                   const std::vector<Words>& y1, const Words& acc0, const Words& acc1, bool accumulate, u64 q) {
    same_size(x.size(), y0.size());
    same_size(x.size(), y1.size());
    const Rows a(x), b(y0), c(y1);
    WordBuffer o0 = aligned(acc0), o1 = aligned(acc1);
    set(s).dot2(o0.data(), o1.data(), a.ptr.data(), b.ptr.data(), c.ptr.data(), x.size(), accumulate, acc0.size(),
                kernels::make_modulus(q));
    return std::pair(give(o0), give(o1));
  });
  k.def("matmul", [](const std::string& s, const Words& a, const Words& b, std::size_t rows, std::size_t cols, u64 q) {
    if (rows % 16 != 0 || cols % 16 != 0 || rows == 0 || cols == 0)
      throw ShapeError("rows and columns must be multiples of 16");
    const std::size_t count = a.size() / rows;
    same_size(a.size(), count * rows);
    same_size(b.size(), count * cols);
    WordBuffer out(rows * cols);
    set(s).matmul(out.data(), cols, aligned(a).data(), aligned(b).data(), rows, cols, count, kernels::make_modulus(q));
    return give(out);
  });
  k.def("automorphism_coeff", [](const std::string& s, const Words& a, u64 g, u64 q) {
    WordBuffer out(a.size());
    set(s).automorphism_coeff(out.data(), aligned(a).data(), g, a.size(), kernels::make_modulus(q));
    return give(out);
  });
  k.def("automorphism_eval", [](const std::string& s, const Words& a, u64 g) {
    unsigned log_n = 0;
    while ((std::size_t{1} << log_n) < a.size()) ++log_n;
    const auto index = Ring::negacyclic(log_n).eval_index(g);
    WordBuffer out(a.size());
    set(s).automorphism_eval(out.data(), aligned(a).data(), index->data(), a.size());
    return give(out);
  });
  k.def("automorphism_eval_add", [](const std::string& s, const Words& acc, const Words& a, u64 g, u64 q) {
    unsigned log_n = 0;
    while ((std::size_t{1} << log_n) < a.size()) ++log_n;
    const auto index = Ring::negacyclic(log_n).eval_index(g);
    WordBuffer out = aligned(acc);
    set(s).automorphism_eval_add(out.data(), aligned(a).data(), index->data(), a.size(), kernels::make_modulus(q));
    return give(out);
  });
  k.def("lift_centered", [](const std::string& s, const Words& a, u64 p, u64 q) {
    WordBuffer out(a.size());
    set(s).lift_centered(out.data(), aligned(a).data(), p, a.size(), kernels::make_modulus(q));
    return give(out);
  });
  k.def("convert_quotient", [](const std::string& s, const std::vector<Words>& y, const std::vector<double>& inv) {
    same_size(y.size(), inv.size());
    const Rows rows(y);
    WordBuffer v(y.at(0).size());
    set(s).convert_quotient(v.data(), rows.ptr.data(), inv.data(), y.size(), v.size());
    return give(v);
  });
  k.def(
      "base_convert",
      [](const std::string& s, const std::vector<Words>& y, const std::vector<u64>& c, unsigned bits,
         std::optional<Words> v, u64 p_mod_q, u64 q) {
        same_size(y.size(), c.size());
        const Rows rows(y);
        WordBuffer out(y.at(0).size()), vv;
        if (v) vv = aligned(*v);
        set(s).base_convert(out.data(), rows.ptr.data(), c.data(), c.size(), bits, v ? vv.data() : nullptr, p_mod_q,
                            out.size(), kernels::make_modulus(q));
        return give(out);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());

  k.def("fft", [](const std::string& s, const Doubles& re, const Doubles& im, const Doubles& wr, const Doubles& wi,
                  bool forward) {
    same_size(re.size(), im.size());
    same_size(re.size(), wr.size());
    same_size(re.size(), wi.size());
    const std::size_t n = re.size();
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

  bind_small_kernels(k);
}

}  // namespace bindings

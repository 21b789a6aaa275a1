// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernels of small rings for the conformance suite: `small_*` of the submodule `kernels`. Words travel as 64-bit
// integers, and `word` (32 or 64) says which kernels run; arrays are copied to aligned memory and back.
#include "bindings.hpp"
#include "ringforge/small_tables.hpp"

namespace bindings {
namespace {

using namespace ringforge;
using kernels::Cut;
using kernels::CutPoly;
using kernels::SmallKernels;
using kernels::SmallNtt;
using Out = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

/// What the contract asks: kernels check nothing themselves.
u64 below(u64 x, u64 limit, const char* what) {
  if (x >= limit)
    throw ValueError(std::string(what) + " " + std::to_string(x) + " is not below " + std::to_string(limit));
  return x;
}

/// Words of W with room for one more cache line, so that empty arrays have an address too.
template <class W>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : size_(n), data_(n * sizeof(W) / sizeof(u64) + 8) {}
  /// Residues modulo q.
  Buffer(const Words& a, u64 q) : Buffer(a.size()) {
    for (std::size_t i = 0; i < size_; ++i) data()[i] = static_cast<W>(below(a.data()[i], q, "residue"));
  }
  W* data() { return reinterpret_cast<W*>(data_.data()); }
  const W* data() const { return reinterpret_cast<const W*>(data_.data()); }
  std::size_t size() const { return size_; }
  Out give() const {
    const std::vector<u64> wide(data(), data() + size_);
    return to_numpy<u64>(wide.data(), wide.size());
  }

 private:
  std::size_t size_;
  WordBuffer data_;
};

void expect_size(std::size_t got, std::size_t wanted) {
  if (got != wanted) throw ShapeError("array of " + std::to_string(got) + " words; give " + std::to_string(wanted));
}

template <class W>
struct Setting {
  const SmallKernels<W>& set;
  SmallTables<W> tables;
  const SmallNtt<W>& t;
  Setting(const std::string& name, std::size_t n, u64 q)
      : set(find(name)), tables(narrowed(q), log2(n)), t(tables.ntt()) {}
  static const SmallKernels<W>& find(const std::string& name) {
    if (const auto* k = kernels::small_find<W>(name.c_str())) return *k;
    throw ParameterError("no kernel set \"" + name + "\" on this CPU");
  }
  static W narrowed(u64 q) {
    if (static_cast<W>(q) != q) throw ParameterError("modulus " + std::to_string(q) + " does not fit the words");
    return static_cast<W>(q);
  }
  static unsigned log2(std::size_t n) {
    unsigned log_n = 0;
    while ((std::size_t{1} << log_n) < n) ++log_n;
    expect_size(n, std::size_t{1} << log_n);
    return log_n;
  }
};

/// Calls f with a value of the word type named by its width.
template <class F>
auto by_word(unsigned word, const F& f) {
  if (word == 32) return f(u32{});
  if (word == 64) return f(u64{});
  throw ParameterError("words of " + std::to_string(word) + " bits; there are 32 and 64");
}

Cut make_cut(unsigned log_base, unsigned count, unsigned drop, bool balanced, u64 q) {
  const unsigned bits = kernels::make_modulus(q).bits;
  if (log_base < 1 || log_base > 61 || count < 1 || count > 64 || drop >= bits || (!balanced && drop != 0) ||
      log_base * count + drop < bits)
    throw ParameterError(std::to_string(count) + " digits of " + std::to_string(log_base) + " bits above 2^" +
                         std::to_string(drop) + " do not cut residues modulo " + std::to_string(q));
  return {log_base, count, drop, balanced};
}

}  // namespace

void bind_small_kernels(nb::module_& k) {
  const auto unary = [&k](const char* name, auto pick) {
    k.def(name, [pick](const std::string& s, const Words& x, u64 q, unsigned word) {
      return by_word(word, [&](auto zero) {
        using W = decltype(zero);
        const Setting<W> e(s, x.size(), q);
        Buffer<W> out(x.size());
        pick(e.set)(out.data(), Buffer<W>(x, q).data(), e.t);
        return out.give();
      });
    });
  };
  unary("small_forward", [](const auto& set) { return set.forward; });
  unary("small_inverse", [](const auto& set) { return set.inverse; });

  const auto indexed = [&k](const char* name, auto pick, bool odd) {
    k.def(name, [pick, odd](const std::string& s, const Words& x, u64 index, u64 q, unsigned word) {
      return by_word(word, [&](auto zero) {
        using W = decltype(zero);
        const Setting<W> e(s, x.size(), q);
        Buffer<W> out(x.size());
        below(index, 2 * e.t.n, "index");
        if (odd && index % 2 == 0) throw ParameterError("element " + std::to_string(index) + " is not odd");
        pick(e.set)(out.data(), Buffer<W>(x, q).data(), index, e.t);
        return out.give();
      });
    });
  };
  indexed("small_rotate", [](const auto& set) { return set.rotate; }, false);
  indexed("small_rotate_sub", [](const auto& set) { return set.rotate_sub; }, false);
  indexed("small_automorphism", [](const auto& set) { return set.automorphism; }, true);

  const auto binary = [&k](const char* name, auto pick) {
    k.def(name, [pick](const std::string& s, const Words& x, const Words& y, u64 q, unsigned word) {
      return by_word(word, [&](auto zero) {
        using W = decltype(zero);
        const Setting<W> e(s, x.size(), q);
        expect_size(y.size(), x.size());
        Buffer<W> out(x.size());
        pick(e.set)(out.data(), Buffer<W>(x, q).data(), Buffer<W>(y, q).data(), e.t);
        return out.give();
      });
    });
  };
  binary("small_add", [](const auto& set) { return set.add; });
  binary("small_sub", [](const auto& set) { return set.sub; });
  binary("small_mul", [](const auto& set) { return set.mul; });

  k.def("small_mul_scalar", [](const std::string& s, const Words& x, u64 c, u64 q, unsigned word) {
    return by_word(word, [&](auto zero) {
      using W = decltype(zero);
      const Setting<W> e(s, x.size(), q);
      Buffer<W> out(x.size());
      e.set.mul_scalar(out.data(), Buffer<W>(x, q).data(), static_cast<W>(below(c, q, "factor")), e.t);
      return out.give();
    });
  });
  k.def("small_cut", [](const std::string& s, const Words& x, unsigned log_base, unsigned count, unsigned drop,
                        bool balanced, u64 q, unsigned word) {
    return by_word(word, [&](auto zero) {
      using W = decltype(zero);
      const Setting<W> e(s, x.size(), q);
      const Cut cut = make_cut(log_base, count, drop, balanced, q);
      Buffer<W> out(x.size() * count);
      e.set.cut(out.data(), Buffer<W>(x, q).data(), cut, e.t);
      return out.give();
    });
  });
  k.def("small_dot", [](const std::string& s, const Words& x, const Words& y, const Words& acc_a, const Words& acc_b,
                        bool accumulate, u64 q, unsigned word) {
    return by_word(word, [&](auto zero) {
      using W = decltype(zero);
      const Setting<W> e(s, acc_a.size(), q);
      const std::size_t n = e.t.n, count = x.size() / n;
      expect_size(acc_b.size(), n);
      expect_size(x.size(), count * n);
      expect_size(y.size(), 2 * count * n);
      Buffer<W> a(acc_a, q), b(acc_b, q);
      e.set.dot(a.data(), b.data(), Buffer<W>(x, q).data(), Buffer<W>(y, q).data(), count, accumulate, e.t);
      return std::pair(a.give(), b.give());
    });
  });
  k.def("small_gadget_product", [](const std::string& s, const std::vector<Words>& polys, const Words& key,
                                   unsigned log_base, unsigned count, unsigned drop, bool balanced, u64 q,
                                   unsigned word) {
    return by_word(word, [&](auto zero) {
      using W = decltype(zero);
      if (polys.empty()) throw ShapeError("no polynomial: give at least one");
      const std::size_t n = polys[0].size(), rows = polys.size() * count;
      const Setting<W> e(s, n, q);
      const Cut cut = make_cut(log_base, count, drop, balanced, q);
      if (polys.size() > 64 || rows > 64) throw ParameterError(std::to_string(rows) + " rows; at most 64");
      expect_size(key.size(), 2 * n * rows);
      std::vector<Buffer<W>> data;
      for (const auto& p : polys) {
        expect_size(p.size(), n);
        data.emplace_back(p, q);
      }
      std::vector<CutPoly<W>> cuts;
      for (const auto& d : data) cuts.push_back({d.data(), cut});
      Buffer<W> a(n), b(n), scratch(rows * n);
      e.set.gadget_product(a.data(), b.data(), cuts.data(), cuts.size(), Buffer<W>(key, q).data(), scratch.data(), e.t);
      return std::pair(a.give(), b.give());
    });
  });
}

}  // namespace bindings

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The server of private set intersection: expansion, lookup, packing, one bin at a time, depth first.
#include <cmath>
#include <mutex>
#include <utility>

#include "progress.hpp"
#include "psi_format.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

using namespace fhew;

PsiSessionKeys::PsiSessionKeys(const PsiPlan& plan, std::span<const std::uint8_t> bytes, unsigned threads)
    : plan_(plan) {
  plan_.check();
  const auto ring = SmallRing<u64>::get(plan_.modulus, plan_.log_n);
  const std::size_t n = plan_.n(), each = packed_bytes(n, ring->bits());
  const std::uint8_t* src = open_message(bytes, plan_.key_bytes(), kPsiKeysType, plan_);
  Seed seed;
  std::memcpy(seed.data(), src, seed.size());
  src += seed.size();
  offsets_.assign(1, 0);
  for (const Cut& c : plan_.expansion) offsets_.push_back(offsets_.back() + c.count);
  rows_ = WordArray<u64>(plan_.key_rows() * 2 * n);
  parallel_for(threads, plan_.key_rows(), [&](std::size_t r) {
    u64* row = rows_.data() + r * 2 * n;
    expand_row(row, *ring, seed, static_cast<u32>(r));
    unpack_residues(row + n, src + r * each, n, ring->bits(), plan_.modulus);
  });
}

void check_table(const PsiPlan& plan, const PsiTable& table) { check_table(plan, table, plan.bins()); }

void check_table(const PsiPlan& plan, const PsiTable& table, std::size_t bins) {
  const auto refuse = [](const std::string& what) { throw FormatError("PSI table: " + what); };
  if (table.words == nullptr && plan.log_cell != 0 && table.count != 0)
    refuse("cells of several words need their words");
  if (table.offsets[0] != 0 || table.offsets[bins] != table.count) refuse("offsets do not span the cells");
  const u64 t = u64{1} << plan.log_t;
  for (std::size_t i = 0; i < bins; ++i) {
    if (table.offsets[i] > table.offsets[i + 1] || table.offsets[i + 1] > table.count)
      refuse("offsets of bin " + std::to_string(i) + " are not ascending");
    for (u64 e = table.offsets[i]; e < table.offsets[i + 1]; ++e)
      if (table.cells[e] >= plan.cells() || (e > table.offsets[i] && table.cells[e] <= table.cells[e - 1]))
        refuse("cells of bin " + std::to_string(i) + " are not ascending below " + std::to_string(plan.cells()));
  }
  if (table.words != nullptr)
    for (std::size_t i = 0; i < table.count * plan.cell_words(); ++i)
      if (table.words[i] >= t)
        refuse("a word is " + std::to_string(table.words[i]) + ", words are below " + std::to_string(t));
}

namespace {

// What every reply ciphertext is masked by: seeds of u and of the errors.
std::vector<SecretSeed> draw_masks(const PsiPlan& plan, Randomness& rng) {
  std::vector<SecretSeed> seeds;
  seeds.reserve(2 * plan.replies());
  for (std::size_t i = 0; i < 2 * plan.replies(); ++i) seeds.push_back(rng.next_seed());
  return seeds;
}

// Adds a fresh encryption of zero, switches the modulus, and writes reply ciphertext number `r` of a body; `acc` is
// used up, `t` has room for 2n words.
void finish_reply(std::uint8_t* body, std::size_t r, u64* acc, const PsiSessionKeys& keys, const SmallRing<u64>& ring,
                  const std::vector<SecretSeed>& seeds, u64* t) {
  const auto& k = ring.kernels();
  const PsiPlan& plan = keys.plan();
  const std::size_t n = ring.n(), each = packed_bytes(n, plan.log_reply);
  u64* u = t;
  u64* v = u + n;
  const SmallPoly mask = sample_ternary(n, seeds[2 * r], StreamObject::mask);
  for (std::size_t i = 0; i < n; ++i) u[i] = ring.lift_secret(mask.coeffs()[i]);
  ring.forward(u, u);
  std::uint8_t* dst = body + r * 2 * each;
  for (unsigned part = 0; part < 2; ++part) {
    u64* x = acc + part * n;
    k.mul(v, u, keys.zero() + part * n, ring.table());
    ring.inverse(v, v);
    k.add(x, x, v, ring.table());
    const SmallPoly e = sample_error(n, seeds[2 * r + 1], part);
    for (std::size_t i = 0; i < n; ++i) {
      u64 y = x[i] + static_cast<u64>(e.coeffs()[i] + static_cast<i64>(plan.modulus));
      y %= plan.modulus;
      x[i] =
          static_cast<u64>(((static_cast<unsigned __int128>(y) << plan.log_reply) + plan.modulus / 2) / plan.modulus) &
          ((u64{1} << plan.log_reply) - 1);
    }
    pack_bits(dst + part * each, x, n, plan.log_reply);
  }
  wipe(u, 2 * n * sizeof(u64));  // the mask, and its product with what the client encrypted
}

// Row `index` of a request's body, in Eval form: a from the seed, b as it was sent.
void open_row(u64* row, const SmallRing<u64>& ring, const std::uint8_t* body, std::size_t index) {
  Seed seed;
  std::memcpy(seed.data(), body, seed.size());
  expand_row(row, ring, seed, static_cast<u32>(index));
  const std::size_t each = packed_bytes(ring.n(), ring.bits());
  unpack_residues(row + ring.n(), body + seed.size() + index * each, ring.n(), ring.bits(), ring.q());
}

// Everything that one query shares between threads.
class Query {
 public:
  /// A whole query, whose reply is masked and written.
  Query(const PsiSessionKeys& keys, const PsiTable& table, const PsiProgress& progress, std::uint8_t* reply,
        Randomness& rng)
      : Query(keys, table, progress, plan_bins(keys), 0, nullptr) {
    reply_ = reply;
    seeds_ = draw_masks(plan, rng);
  }
  /// The part below a node of `depth` stages: the table has its bins alone, results stay as they are.
  Query(const PsiSessionKeys& keys, const PsiTable& table, const PsiProgress& progress, std::size_t bins,
        unsigned depth, u64* results)
      : plan(keys.plan()),
        ring(*ring_holder_),
        n(plan.n()),
        keys(keys),
        table(table),
        depth(depth),
        results_(results),
        reports_(progress, bins) {
    // X^(-2^s) in Eval form, one for each stage, and where its substitution takes slots from.
    monomials_ = WordArray<u64>(plan.stages() * n);
    monomials_.zero();
    const Ring r = Ring::negacyclic(plan.log_n);
    for (unsigned s = 0; s < plan.stages(); ++s) {
      u64* m = monomials_.data() + s * n;
      m[n - (std::size_t{1} << s)] = plan.modulus - 1;
      ring.forward(m, m);
    }
    for (unsigned s = 0; s < plan.log_n; ++s) index_.push_back(r.eval_index((n >> s) + 1));
    // Plain leaves: a power of two next to Q/T, so that the largest gadget element divides it.
    const unsigned top = plan.gadget.log_base * (plan.gadget.count - 1);
    const auto log_delta = static_cast<u64>(std::lround(std::log2(static_cast<double>(plan.modulus)))) - plan.log_t;
    delta = ring.power(2, log_delta);
    leaf_scale = ring.invert(ring.power(2, top));
    unscale_ = ring.invert(u64{1} << plan.rotation_bits());
  }

  const PsiPlan& plan;

 private:
  std::shared_ptr<const SmallRing<u64>> ring_holder_ = SmallRing<u64>::get(plan.modulus, plan.log_n);

 public:
  const SmallRing<u64>& ring;
  const std::size_t n;
  const PsiSessionKeys& keys;
  const PsiTable& table;
  const unsigned depth;  ///< low bits of numbers of bins and replies that are left away
  u64 delta = 0;         ///< of plain leaves
  u64 leaf_scale = 0;    ///< 1/g, g the largest gadget element

  std::size_t node_words() const noexcept { return plan.outputs() * 2 * n; }
  const u64* monomial(unsigned stage) const noexcept { return monomials_.data() + stage * n; }
  const u32* index(unsigned stage) const noexcept { return index_[stage]->data(); }
  u64 unscale() const noexcept { return unscale_; }

  /// Takes a packed result; returns whether it was masked here.
  bool finish(std::size_t r, u64* acc, Workspace<u64>& w) {
    if (results_ != nullptr) {
      std::copy_n(acc, 2 * n, results_ + (r >> depth) * 2 * n);
      return false;
    }
    finish_reply(reply_, r, acc, keys, ring, seeds_, w.t.data());
    return true;
  }
  void step(std::size_t bins, const PsiCounts& counts) {
    {
      const std::lock_guard lock(mutex_);
      counts_ += counts;
    }
    reports_.add(bins);
  }
  const PsiCounts& counts() const noexcept { return counts_; }

 private:
  static std::size_t plan_bins(const PsiSessionKeys& keys) { return keys.plan().bins(); }

  std::uint8_t* reply_ = nullptr;
  u64* results_;
  Reports<bool> reports_;
  WordArray<u64> monomials_;
  std::vector<std::shared_ptr<const std::vector<u32>>> index_;
  u64 unscale_ = 0;
  std::vector<SecretSeed> seeds_;
  std::mutex mutex_;
  PsiCounts counts_;
};

// One thread's part of a query: buffers, and the recursion over a subtree.
class Worker {
 public:
  Worker(Query& query, unsigned top)
      : q_(query),
        plan_(query.plan),
        ring_(query.ring),
        n_(query.n),
        top_(top),
        work_(n_, std::max<std::size_t>(16, rows_needed(plan_))),
        nodes_((plan_.stages() - top) * q_.node_words() + 1),
        results_(2 * (plan_.stages() + 2) * 2 * n_),
        rgsw_(std::size_t{plan_.rgsw_bits()} * 2 * plan_.gadget.count * 2 * n_),
        rows_((std::size_t{1} << plan_.log_onehot) * n_),
        tree_((plan_.tree_bits() + 2) * 2 * n_),
        sparse_(n_),
        temp_(4 * n_),
        starts_((std::size_t{1} << plan_.row_bits()) + 1) {
    sparse_.zero();
  }

  PsiCounts counts;

  /// child0 and child1 of a node: outputs() ciphertexts each; child0 may be the node itself.
  void expand(const u64* node, u64* child0, u64* child1, unsigned stage, std::size_t first, std::size_t count);
  /// Answers all bins below a node that has been expanded for stages 0 ... stage-1; `prefix` is their common low part
  /// of the number in the group. Returns their packed result in `result` when the subtree is part of one reply.
  void descend(const u64* node, unsigned stage, std::size_t prefix, std::size_t group, u64* result);
  /// Joins two halves of a reply.
  void pack(u64* result, const u64* r0, const u64* r1, unsigned stage);
  void finish(std::size_t reply, u64* acc) {
    if (!q_.finish(reply, acc, work_)) return;
    counts.ntt += 1;
    counts.intt += 2;
  }

 private:
  static std::size_t rows_needed(const PsiPlan& plan) {
    std::size_t rows = std::max<std::size_t>(2 * plan.gadget.count, plan.reconstruction.count);
    for (const Cut& c : plan.expansion) rows = std::max<std::size_t>(rows, c.count);
    return rows;
  }
  void count_product() {
    counts.external_product += 1;
    counts.intt += 2;
    counts.ntt += 2 * plan_.gadget.count;
  }
  const u64* rgsw(unsigned bit) const { return rgsw_.data() + std::size_t{bit} * 2 * plan_.gadget.count * 2 * n_; }
  /// The bin's cell: its words at multiples of N/s, scaled for packing, other coefficients arbitrary.
  void lookup(const u64* node, std::size_t bin, u64* result);
  void rebuild(const u64* node);
  void leaf(u64* dst, const u64* node, std::size_t leaf, std::size_t bin);
  /// Writes a row's words into `sparse_`, which is zero otherwise; `clear` takes them out again.
  void fill(std::size_t row, std::size_t bin);
  void clear(std::size_t row, std::size_t bin);

  Query& q_;
  const PsiPlan& plan_;
  const SmallRing<u64>& ring_;
  const std::size_t n_;
  const unsigned top_;
  Workspace<u64> work_;
  WordArray<u64> nodes_, results_, rgsw_, rows_, tree_, sparse_, temp_;
  std::vector<u32> starts_;  // where each row's cells start among the bin's
};

void Worker::expand(const u64* node, u64* child0, u64* child1, unsigned stage, std::size_t first, std::size_t count) {
  const auto& k = ring_.kernels();
  const auto& t = ring_.table();
  const Cut& cut = plan_.expansion[stage];
  u64* image = temp_.data();
  u64* product = temp_.data() + 2 * n_;
  for (std::size_t o = first; o < first + count; ++o) {
    const u64* a = node + o * 2 * n_;
    const u64* b = a + n_;
    u64* c0 = child0 + o * 2 * n_;
    u64* c1 = child1 + o * 2 * n_;
    ring_.inverse(product, a);
    k.automorphism(image, product, (n_ >> stage) + 1, t);
    const kernels::CutPoly<u64> poly{image, cut};
    k.gadget_product(product, product + n_, &poly, 1, q_.keys.substitution(stage), work_.digits.data(), t);
    kernels::active().automorphism_eval(image, b, q_.index(stage), n_);
    k.sub(image, image, product + n_, t);
    // The substituted ciphertext is (-product.a, image): child0 adds it, child1 subtracts it and shifts.
    k.add(c1, a, product, t);
    k.mul(c1, c1, q_.monomial(stage), t);
    k.sub(c1 + n_, b, image, t);
    k.mul(c1 + n_, c1 + n_, q_.monomial(stage), t);
    k.sub(c0, a, product, t);
    k.add(c0 + n_, b, image, t);
  }
  counts.substitution += count;
  counts.intt += count;
  counts.ntt += count * cut.count;
}

void Worker::pack(u64* result, const u64* r0, const u64* r1, unsigned stage) {
  const auto& k = ring_.kernels();
  const auto& t = ring_.table();
  u64* shifted = temp_.data();
  u64* difference = temp_.data() + 2 * n_;
  for (unsigned part = 0; part < 2; ++part) {
    k.rotate(shifted + part * n_, r1 + part * n_, std::size_t{1} << stage, t);
    k.sub(difference + part * n_, r0 + part * n_, shifted + part * n_, t);
    k.add(result + part * n_, r0 + part * n_, shifted + part * n_, t);
  }
  substitute(difference, difference, (n_ >> stage) + 1, q_.keys.substitution(stage), plan_.expansion[stage], ring_,
             work_);
  k.add(result, result, difference, t);
  k.add(result + n_, result + n_, difference + n_, t);
  counts.substitution += 1;
  counts.intt += 2;
  counts.ntt += plan_.expansion[stage].count;
}

void Worker::descend(const u64* node, unsigned stage, std::size_t prefix, std::size_t group, u64* result) {
  if (stage == plan_.stages()) {
    lookup(node, ((group << plan_.stages()) + prefix) >> q_.depth, result);
    q_.step(1, std::exchange(counts, {}));
    return;
  }
  const unsigned skipped = plan_.stages() - plan_.pack_stages();
  // One new node for each stage: its second child; the first overwrites the node, which is this worker's copy.
  u64* child1 = nodes_.data() + (stage - top_) * q_.node_words();
  auto* child0 = const_cast<u64*>(node);
  expand(node, child0, child1, stage, 0, plan_.outputs());
  u64* r0 = results_.data() + 2 * stage * 2 * n_;
  u64* r1 = r0 + 2 * n_;
  descend(child0, stage + 1, prefix, group, r0);
  descend(child1, stage + 1, prefix | std::size_t{1} << stage, group, r1);
  if (stage >= skipped) {
    pack(result, r0, r1, stage - skipped);
  } else if (stage + 1 == skipped) {
    finish((group << skipped) + prefix, r0);
    finish((group << skipped) + (prefix | std::size_t{1} << stage), r1);
  }
}

void Worker::fill(std::size_t row, std::size_t bin) {
  const u64 base = q_.table.offsets[bin];
  const std::size_t s = plan_.cell_words(), stride = plan_.stride();
  for (u64 e = base + starts_[row]; e < base + starts_[row + 1]; ++e) {
    const std::size_t at = q_.table.cells[e] & (stride - 1);
    for (std::size_t j = 0; j < s; ++j)
      sparse_.data()[at + j * stride] = q_.table.words == nullptr ? 1 : q_.table.words[e * s + j];
  }
}

void Worker::clear(std::size_t row, std::size_t bin) {
  const u64 base = q_.table.offsets[bin];
  const std::size_t stride = plan_.stride();
  for (u64 e = base + starts_[row]; e < base + starts_[row + 1]; ++e)
    for (std::size_t j = 0; j < plan_.cell_words(); ++j)
      sparse_.data()[(q_.table.cells[e] & (stride - 1)) + j * stride] = 0;
}

void Worker::rebuild(const u64* node) {
  const auto& k = ring_.kernels();
  const auto& t = ring_.table();
  const std::size_t d = plan_.gadget.count, selectors = plan_.onehot() ? std::size_t{1} << plan_.log_onehot : 0;
  u64* coeff = temp_.data();
  for (unsigned bit = 0; bit < plan_.rgsw_bits(); ++bit) {
    u64* to = rgsw_.data() + std::size_t{bit} * 2 * d * 2 * n_;
    const u64* from = node + (selectors + bit * d) * 2 * n_;
    std::copy_n(from, d * 2 * n_, to + d * 2 * n_);
    for (std::size_t j = 0; j < d; ++j) {
      const u64* a = from + j * 2 * n_;
      u64* out = to + j * 2 * n_;
      ring_.inverse(coeff, a);
      if (plan_.onehot()) {
        // (b, 0) has phase -z*b; the digits of a times RLWE'(z^2) add z^2*a: together -z*(b - a*z).
        const kernels::CutPoly<u64> poly{coeff, plan_.reconstruction};
        k.gadget_product(out, out + n_, &poly, 1, q_.keys.reconstruction(), work_.digits.data(), t);
        k.add(out, out, a + n_, t);
        counts.reconstruction += 1;
        counts.intt += 1;
        counts.ntt += plan_.reconstruction.count;
      } else {
        ring_.inverse(coeff + n_, a + n_);
        const kernels::CutPoly<u64> polys[2] = {{coeff, plan_.gadget}, {coeff + n_, plan_.gadget}};
        k.gadget_product(out, out + n_, polys, 2, q_.keys.reconstruction(), work_.digits.data(), t);
        count_product();
      }
    }
  }
}

void Worker::leaf(u64* dst, const u64* node, std::size_t leaf, std::size_t bin) {
  const auto& k = ring_.kernels();
  if (!plan_.onehot()) {
    std::fill_n(dst, n_, u64{0});
    fill(leaf, bin);
    k.mul_scalar(dst + n_, sparse_.data(), q_.delta, ring_.table());
    clear(leaf, bin);
    counts.row += 1;
    return;
  }
  const std::size_t selectors = std::size_t{1} << plan_.log_onehot;
  for (std::size_t i = 0; i < selectors; ++i) {
    const std::size_t row = (i << plan_.tree_bits()) + leaf;
    fill(row, bin);
    ring_.forward(rows_.data() + i * n_, sparse_.data());
    clear(row, bin);
  }
  k.dot(dst, dst + n_, rows_.data(), node, selectors, false, ring_.table());
  ring_.inverse(dst, dst);
  ring_.inverse(dst + n_, dst + n_);
  counts.row += selectors;
  counts.ntt += selectors;
  counts.intt += 2;
}

void Worker::lookup(const u64* node, std::size_t bin, u64* result) {
  const auto& k = ring_.kernels();
  const auto& t = ring_.table();
  rebuild(node);
  const u64 base = q_.table.offsets[bin], count = q_.table.offsets[bin + 1] - base;
  std::size_t row = 0;
  for (u32 e = 0; e < count; ++e)
    for (const std::size_t r = q_.table.cells[base + e] >> plan_.rotation_bits(); row <= r; ++row) starts_[row] = e;
  for (; row < starts_.size(); ++row) starts_[row] = static_cast<u32>(count);

  // The tree, leaf by leaf: level l of the stack holds the finished left half of a subtree of height l.
  const Cut& cut = plan_.gadget;
  for (std::size_t i = 0; i < std::size_t{1} << plan_.tree_bits(); ++i) {
    unsigned level = 0;
    u64* current = tree_.data() + std::size_t{plan_.tree_bits()} * 2 * n_;
    leaf(i % 2 == 0 && plan_.tree_bits() > 0 ? tree_.data() : current, node, i, bin);
    for (std::size_t path = i; level < plan_.tree_bits() && (path & 1) == 1; path >>= 1, ++level) {
      u64* left = tree_.data() + std::size_t{level} * 2 * n_;
      if (level == 0 && !plan_.onehot()) {
        // Plain leaves: their difference times RLWE(bit*g), g the largest gadget element, scaled to match.
        u64* difference = temp_.data();
        u64* product = work_.t.data();
        const u64* row = rgsw(0) + (2 * std::size_t{cut.count} - 1) * 2 * n_;
        k.sub(difference, current + n_, left + n_, t);
        k.mul_scalar(difference, difference, q_.leaf_scale, t);
        ring_.forward(difference, difference);
        k.mul(product, difference, row, t);
        k.mul(product + n_, difference, row + n_, t);
        ring_.inverse(product, product);
        ring_.inverse(product + n_, product + n_);
        k.add(left, left, product, t);
        k.add(left + n_, left + n_, product + n_, t);
        counts.external_product += 1;
        counts.intt += 2;
        counts.ntt += 1;
      } else {
        cmux(left, current, rgsw(level), cut, cut, ring_, work_);
        count_product();
      }
      // The joined subtree is the current one; it goes to the next level's place when it is a left half there.
      const bool is_left = (path >> 1 & 1) == 0 && level + 1 < plan_.tree_bits();
      std::copy_n(left, 2 * n_, is_left ? tree_.data() + std::size_t{level + 1} * 2 * n_ : current);
    }
  }
  std::copy_n(tree_.data() + std::size_t{plan_.tree_bits()} * 2 * n_, 2 * n_, result);
  for (unsigned bit = 0; bit < plan_.rotation_bits(); ++bit) {
    rotate_by_bit(result, 2 * n_ - (std::size_t{1} << bit), rgsw(plan_.tree_bits() + bit), cut, cut, ring_, work_);
    count_product();
  }
  k.mul_scalar(result, result, q_.unscale(), t);
  k.mul_scalar(result + n_, result + n_, q_.unscale(), t);
  // With few bins in a reply, the coefficients between its cells are cancelled here.
  for (unsigned stage = plan_.rotation_bits(); stage-- > plan_.pack_stages();) {
    u64* image = temp_.data();
    substitute(image, result, (n_ >> stage) + 1, q_.keys.substitution(stage), plan_.expansion[stage], ring_, work_);
    k.add(result, result, image, t);
    k.add(result + n_, result + n_, image + n_, t);
    counts.substitution += 1;
    counts.intt += 2;
    counts.ntt += plan_.expansion[stage].count;
  }
}

// Workers of a query, which are made as threads need them.
class Workers {
 public:
  Workers(Query& query, unsigned top) : query_(query), top_(top) {}
  template <class Body>
  void lend(Body&& body) {
    std::unique_ptr<Worker> worker;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) worker = std::move(idle_.back()), idle_.pop_back();
    }
    if (!worker) worker = std::make_unique<Worker>(query_, top_);
    body(*worker);
    query_.step(0, std::exchange(worker->counts, {}));
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
  }

 private:
  Query& query_;
  const unsigned top_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// Answers all bins below nodes[0], which has been expanded for `from` stages along `prefix`. nodes and results have
// 2^(top - from) places; results[0] is what is packed of the subtree where that is less than a reply.
void answer(Query& query, Workers& workers, std::vector<WordArray<u64>>& nodes, std::vector<WordArray<u64>>& results,
            std::size_t group, unsigned from, unsigned top, std::size_t prefix, unsigned threads) {
  const PsiPlan& plan = query.plan;
  const std::size_t n = plan.n(), outputs = plan.outputs();
  const unsigned skipped = plan.stages() - plan.pack_stages();
  const auto number = [&](std::size_t j) { return (group << skipped) + (prefix | j << from); };
  for (unsigned s = from; s < top; ++s)
    parallel_for(threads, (std::size_t{1} << (s - from)) * outputs, [&](std::size_t job) {
      const std::size_t j = job / outputs;
      workers.lend([&](Worker& w) {
        w.expand(nodes[j].data(), nodes[j].data(), nodes[j | std::size_t{1} << (s - from)].data(), s, job % outputs, 1);
      });
    });
  parallel_for(threads, nodes.size(), [&](std::size_t j) {
    workers.lend([&](Worker& w) {
      w.descend(nodes[j].data(), top, prefix | j << from, group, results[j].data());
      if (top == skipped) w.finish(number(j), results[j].data());
    });
  });
  // What lies above the subtrees: pairs of halves, up to whole replies.
  for (unsigned s = top; s-- > std::max(skipped, from);) {
    const std::size_t half = std::size_t{1} << (s - from);
    parallel_for(threads, half, [&](std::size_t j) {
      workers.lend([&](Worker& w) {
        u64* both = results[j].data();
        w.pack(both + 2 * n, both, results[j + half].data(), s - skipped);
        std::copy_n(both + 2 * n, 2 * n, both);
        if (s == skipped) w.finish(number(j), both);
      });
    });
  }
}

std::vector<WordArray<u64>> rooms(std::size_t count, std::size_t words) {
  std::vector<WordArray<u64>> made(count);
  for (auto& x : made) x = WordArray<u64>(words);
  return made;
}

}  // namespace

std::vector<std::uint8_t> psi_answer(const PsiSessionKeys& keys, std::span<const std::uint8_t> request,
                                     const PsiTable& table, unsigned threads, const PsiProgress& progress,
                                     PsiCounts* counts, Randomness& rng) {
  const PsiPlan& plan = keys.plan();
  const std::uint8_t* src = open_message(request, plan.request_bytes(), kPsiRequestType, plan);
  std::vector<std::uint8_t> reply(plan.reply_bytes());
  Query query(keys, table, progress, io::begin_record(reply, kPsiReplyType, plan.hash()), rng);
  const unsigned top = psi_top_stages(plan, threads);
  Workers workers(query, top);
  auto nodes = rooms(std::size_t{1} << top, query.node_words());
  auto results = rooms(std::size_t{1} << top, 2 * 2 * plan.n());
  for (std::size_t group = 0; group < plan.groups(); ++group) {
    parallel_for(threads, plan.outputs(), [&](std::size_t o) {
      open_row(nodes[0].data() + o * 2 * plan.n(), query.ring, src, group * plan.outputs() + o);
    });
    answer(query, workers, nodes, results, group, 0, top, 0, threads);
  }
  io::seal_record(reply);
  if (counts != nullptr) *counts += query.counts();
  return reply;
}

std::size_t psi_part_results(const PsiPlan& plan, unsigned depth) noexcept {
  const unsigned skipped = plan.stages() - plan.pack_stages();
  return depth < skipped ? std::size_t{1} << (skipped - depth) : 1;
}

std::vector<std::vector<std::uint8_t>> psi_cut_request(const PsiPlan& plan, std::span<const std::uint8_t> request) {
  const std::uint8_t* src = open_message(request, plan.request_bytes(), kPsiRequestType, plan);
  const std::size_t each =
      plan.outputs() * packed_bytes(plan.n(), SmallRing<u64>::get(plan.modulus, plan.log_n)->bits());
  std::vector<std::vector<std::uint8_t>> parts;
  for (std::size_t group = 0; group < plan.groups(); ++group) {
    const std::uint8_t* rows = src + sizeof(Seed) + group * each;
    parts.emplace_back(src, src + sizeof(Seed));
    parts.back().insert(parts.back().end(), rows, rows + each);
  }
  return parts;
}

void psi_answer_part(u64* dst, const PsiSessionKeys& keys, std::span<const std::uint8_t> rows, const PsiTable& table,
                     const PsiPart& part, unsigned threads, const PsiProgress& progress, PsiCounts* counts) {
  const PsiPlan& plan = keys.plan();
  const std::size_t n = plan.n(), outputs = plan.outputs(), words = 2 * n;
  const auto bits = SmallRing<u64>::get(plan.modulus, plan.log_n)->bits();
  const std::size_t each = packed_bytes(n, bits);
  if (rows.size() != sizeof(Seed) + outputs * each)
    throw FormatError("a group of a request has " + std::to_string(sizeof(Seed) + outputs * each) + " bytes, not " +
                      std::to_string(rows.size()));
  Query query(keys, table, progress, part.bins(plan), part.depth, dst);
  const unsigned top = std::min(part.depth + psi_top_stages(plan, threads), plan.stages());
  Workers workers(query, top);
  auto nodes = rooms(std::size_t{1} << (top - part.depth), query.node_words());
  auto results = rooms(std::size_t{1} << (top - part.depth), 2 * words);
  Seed seed;
  std::memcpy(seed.data(), rows.data(), seed.size());
  parallel_for(threads, outputs, [&](std::size_t o) {
    u64* row = nodes[0].data() + o * words;
    expand_row(row, query.ring, seed, static_cast<u32>(part.group * outputs + o));
    unpack_residues(row + n, rows.data() + sizeof(Seed) + o * each, n, bits, plan.modulus);
  });
  // Down the path to the part: of each pair of children, one.
  WordArray<u64> other(part.depth > 0 ? query.node_words() : 1);
  for (unsigned s = 0; s < part.depth; ++s) {
    parallel_for(threads, outputs, [&](std::size_t o) {
      workers.lend([&](Worker& w) { w.expand(nodes[0].data(), nodes[0].data(), other.data(), s, o, 1); });
    });
    if ((part.prefix >> s & 1) != 0) std::swap(nodes[0], other);
  }
  // Groups are numbered where replies are put together.
  answer(query, workers, nodes, results, 0, part.depth, top, part.prefix, threads);
  if (part.depth > plan.stages() - plan.pack_stages()) std::copy_n(results[0].data(), words, dst);
  if (counts != nullptr) *counts += query.counts();
}

void psi_join_parts(u64* dst, const PsiSessionKeys& keys, const u64* parts, unsigned depth, PsiCounts* counts) {
  const PsiPlan& plan = keys.plan();
  const unsigned skipped = plan.stages() - plan.pack_stages();
  const std::size_t words = 2 * plan.n(), count = psi_part_results(plan, depth), each = std::size_t{1} << depth;
  const PsiTable none{};
  Query query(keys, none, {}, 1, depth, nullptr);
  Worker worker(query, plan.stages());
  for (std::size_t group = 0; group < plan.groups(); ++group) {
    const u64* from = parts + group * each * count * words;
    u64* to = dst + (group << skipped) * words;
    if (depth <= skipped) {
      for (std::size_t j = 0; j < each; ++j)
        for (std::size_t i = 0; i < count; ++i)
          std::copy_n(from + (j * count + i) * words, words, to + (i << depth | j) * words);
      continue;
    }
    WordArray<u64> halves(each * words), both(words);
    std::copy_n(from, each * words, halves.data());
    for (unsigned s = depth; s-- > skipped;)
      for (std::size_t j = 0, half = std::size_t{1} << s; j < half; ++j) {
        worker.pack(both.data(), halves.data() + j * words, halves.data() + (j + half) * words, s - skipped);
        std::copy_n(both.data(), words, halves.data() + j * words);
      }
    std::copy_n(halves.data(), words << skipped, to);
  }
  if (counts != nullptr) *counts += worker.counts;
}

std::vector<std::uint8_t> psi_answer(const PsiSessionKeys& keys, std::span<const std::uint8_t> request,
                                     const PsiTable& table, unsigned threads, const PsiProgress& progress,
                                     PsiCounts* counts) {
  Randomness rng;
  return psi_answer(keys, request, table, threads, progress, counts, rng);
}

void psi_open_request(u64* dst, const PsiPlan& plan, std::span<const std::uint8_t> request) {
  const std::uint8_t* src = open_message(request, plan.request_bytes(), kPsiRequestType, plan);
  const auto ring = SmallRing<u64>::get(plan.modulus, plan.log_n);
  for (std::size_t i = 0; i < plan.groups() * plan.outputs(); ++i) open_row(dst + i * 2 * plan.n(), *ring, src, i);
}

std::vector<std::uint8_t> psi_seal_reply(const PsiSessionKeys& keys, const u64* results, Randomness& rng) {
  const PsiPlan& plan = keys.plan();
  const std::size_t n = plan.n();
  const auto ring = SmallRing<u64>::get(plan.modulus, plan.log_n);
  const std::vector<SecretSeed> seeds = draw_masks(plan, rng);
  std::vector<std::uint8_t> reply(plan.reply_bytes());
  std::uint8_t* body = io::begin_record(reply, kPsiReplyType, plan.hash());
  WordArray<u64> acc(2 * n), t(2 * n);
  for (std::size_t r = 0; r < plan.replies(); ++r) {
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const u64 x = results[r * 2 * n + i];
      if (x >= plan.modulus) throw ValueError("coefficient " + std::to_string(x) + " is not below the plan's modulus");
      acc.data()[i] = x;
    }
    finish_reply(body, r, acc.data(), keys, *ring, seeds, t.data());
  }
  io::seal_record(reply);
  return reply;
}

}  // namespace ringforge::circuits

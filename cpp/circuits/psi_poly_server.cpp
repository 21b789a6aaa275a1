// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The server of the polynomial protocol: powers, values of polynomials, replies. One column after the other.
//
// Values are sums of plaintexts times powers. Rows of a block of kPsiPolyBlock words lie together, plaintexts in the
// table and powers in a copy made here, so that the powers of a block stay in the cache while all plaintexts stream by.
#include <algorithm>
#include <cstring>

#include "progress.hpp"
#include "psi_poly_format.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

PsiPolySessionKeys::PsiPolySessionKeys(PsiPolyContextPtr context, std::span<const std::uint8_t> bytes, unsigned threads)
    : context_(std::move(context)) {
  const PsiPolyPlan& plan = context_->plan();
  const rlwe::Gadget& gadget = context_->bfv()->gadget();
  const std::size_t n = plan.n(), limbs = plan.key_limbs();
  rlwe::SwitchingKey key;
  const std::uint8_t* src = open_poly_message(bytes, plan.key_bytes(), kPsiPolyKeysType, *context_, &key.key_id);
  key.limbs = limbs;
  key.spec = gadget.spec();
  std::memcpy(key.seed.data(), src, sizeof(Seed));
  src += sizeof(Seed);
  key.a = rlwe::SwitchingKey::expand(key.seed, gadget, limbs, threads);
  for (std::size_t d = 0; d < gadget.digits(limbs); ++d) {
    Poly<Eval> b(gadget.extended(limbs));
    for (std::size_t j = 0; j < b.limbs(); ++j) {
      const u64 q = b.basis()[j].value();
      unpack_residues(b.limb(j), src, n, psi_poly_bits(q), q);
      src += packed_bytes(n, psi_poly_bits(q));
    }
    key.b.push_back(std::move(b));
  }
  key_ = std::make_shared<const bfv::RelinKey>(std::move(key));
}

std::size_t psi_poly_bundle_words(const PsiPolyPlan& plan) noexcept {
  return plan.polys() * plan.plain_limbs * plan.rows() * plan.n();
}

void check_table(const PsiPolyPlan& plan, const PsiPolyTable& table) {
  const std::size_t count = std::size_t{plan.columns} * plan.bundles * plan.column_bins();
  for (std::size_t i = 0; i < count; ++i)
    if (table.counts[i] > plan.degree)
      throw FormatError("PSI table: a sub-bin of " + std::to_string(table.counts[i]) +
                        " elements, this plan's have at most " + std::to_string(plan.degree));
}

namespace {

constexpr std::size_t kBlock = kPsiPolyBlock;
constexpr unsigned kParts = 2;

class Query {
 public:
  /// Of so many columns, one after the other, and sub-bins of each bin.
  Query(const PsiPolySessionKeys& keys, const PsiPolyTable& table, std::size_t columns, std::size_t bundles,
        unsigned threads, const PsiPolyProgress& progress)
      : plan_(keys.plan()),
        context_(*keys.context()),
        ctx_(*context_.bfv()),
        keys_(keys),
        table_(table),
        bundles_(bundles),
        threads_(threads),
        evaluator_(context_.bfv(), 1),
        factor_(psi_poly_factors(plan_, context_.steps())),
        n_(plan_.n()),
        blocks_(n_ / kBlock),
        reports_(progress, columns * (plan_.degree + plan_.plain_limbs * blocks_ + bundles * plan_.polys())),
        powers_(std::size_t{plan_.plain_limbs} * blocks_ * plan_.degree * kParts * kBlock) {}

  void column(std::size_t column, const std::uint8_t* request, u64 key_id, std::uint8_t* reply);
  const PsiPolyCounts& counts() const noexcept { return counts_; }

 private:
  bfv::Ciphertext source(const std::uint8_t* src, u64 key_id) const;
  void place(unsigned power, const bfv::Ciphertext& c);
  void make_powers(const std::uint8_t* request, u64 key_id);
  void multiply(std::size_t column, std::vector<bfv::Ciphertext>& values) const;
  void send(const bfv::Ciphertext& value, std::uint8_t* dst) const;

  u64* row(std::size_t limb, std::size_t block, std::size_t power, unsigned part) {
    return powers_.data() + (((limb * blocks_ + block) * plan_.degree + power - 1) * kParts + part) * kBlock;
  }
  const u64* row(std::size_t limb, std::size_t block, std::size_t power, unsigned part) const {
    return const_cast<Query*>(this)->row(limb, block, power, part);
  }

  const PsiPolyPlan& plan_;
  const PsiPolyContext& context_;
  const bfv::Context& ctx_;
  const PsiPolySessionKeys& keys_;
  const PsiPolyTable& table_;
  const std::size_t bundles_;
  const unsigned threads_;
  bfv::Evaluator evaluator_;
  const std::vector<bool> factor_;
  const std::size_t n_, blocks_;
  mutable Reports<bool> reports_;
  WordBuffer powers_;  // (plain_limbs, blocks, degree, 2, block)
  PsiPolyCounts counts_;
};

bfv::Ciphertext Query::source(const std::uint8_t* src, u64 key_id) const {
  const Basis basis = ctx_.basis(plan_.q.size());
  Seed seed;
  std::memcpy(seed.data(), src, sizeof(Seed));
  src += sizeof(Seed);
  Poly<Eval> b(basis);
  for (std::size_t i = 0; i < basis.size(); ++i) {
    const unsigned bits = psi_poly_bits(plan_.q[i]);
    unpack_residues(b.limb(i), src, n_, bits, plan_.q[i]);
    src += packed_bytes(n_, bits);
  }
  rlwe::Ciphertext c;
  c.key_id = key_id;
  c.parts.push_back(std::move(b));
  c.parts.push_back(sample_uniform(basis, seed, StreamObject::ciphertext));
  return {plan_.t, ctx_.rules().encrypted(false), std::move(c)};
}

void Query::place(unsigned power, const bfv::Ciphertext& c) {
  for (std::size_t i = 0; i < plan_.plain_limbs; ++i)
    for (std::size_t block = 0; block < blocks_; ++block)
      for (unsigned part = 0; part < kParts; ++part)
        std::memcpy(row(i, block, power, part), c.parts[part].limb(i) + block * kBlock, kBlock * sizeof(u64));
}

void Query::make_powers(const std::uint8_t* request, u64 key_id) {
  const auto& steps = context_.steps();
  std::vector<bfv::Ciphertext> full(std::size_t{plan_.degree} + 1);
  const std::size_t each =
      (plan_.request_bytes() - io::record_bytes(kPsiPolyMessageHead)) / (plan_.columns * plan_.sources.size());
  // Steps of one depth need only earlier depths.
  for (std::size_t first = 0; first < steps.size();) {
    std::size_t last = first;
    while (last < steps.size() && steps[last].depth == steps[first].depth) ++last;
    parallel_for(threads_, last - first, [&](std::size_t i) {
      const auto& step = steps[first + i];
      bfv::Ciphertext c;
      if (step.depth == 0)
        c = source(request + i * each, key_id);
      else if (step.left == step.right)
        c = evaluator_.square(full[step.left]);
      else
        c = evaluator_.mul(full[step.left], full[step.right]);
      if (factor_[step.power]) {
        full[step.power] = evaluator_.relinearize(c, keys_.key());
        place(step.power, evaluator_.mod_switch_to(full[step.power], plan_.plain_limbs));
      } else {
        place(step.power, evaluator_.relinearize(evaluator_.mod_switch_to(c, plan_.plain_limbs), keys_.key()));
      }
      reports_.add(1);
    });
    if (steps[first].depth > 0) {
      counts_.product += last - first;
      counts_.relinearization += last - first;
    }
    first = last;
  }
}

void Query::multiply(std::size_t column, std::vector<bfv::Ciphertext>& values) const {
  const std::size_t rows = plan_.rows(), polys = plan_.polys(), words = psi_poly_bundle_words(plan_);
  // Rows above the fullest sub-bin of a bundle are zero.
  std::vector<std::size_t> used(bundles_);
  for (std::size_t b = 0; b < bundles_; ++b) {
    const std::uint16_t* counts = table_.counts + (column * bundles_ + b) * plan_.column_bins();
    used[b] = *std::max_element(counts, counts + plan_.column_bins());
  }
  parallel_for(threads_, plan_.plain_limbs * blocks_, [&](std::size_t job) {
    const std::size_t limb = job / blocks_, block = job % blocks_;
    const auto& kern = kernels::active();
    const auto& m = ctx_.gadget().q()[limb].mod();
    std::vector<const u64*> x(plan_.degree), y0(plan_.degree), y1(plan_.degree);
    for (std::size_t k = 0; k < plan_.degree; ++k) {
      y0[k] = row(limb, block, k + 1, 0);
      y1[k] = row(limb, block, k + 1, 1);
    }
    for (std::size_t b = 0; b < bundles_; ++b)
      for (std::size_t p = 0; p < polys; ++p) {
        const u64* plain = table_.plain + (column * bundles_ + b) * words +
                           ((p * plan_.plain_limbs + limb) * blocks_ + block) * rows * kBlock;
        // A label's polynomial has a degree less.
        const std::size_t count = p == 0 || used[b] == 0 ? used[b] : used[b] - 1;
        for (std::size_t k = 0; k < count; ++k) x[k] = plain + (k + 1) * kBlock;
        bfv::Ciphertext& value = values[b * polys + p];
        u64* out0 = value.parts[0].limb(limb) + block * kBlock;
        u64* out1 = value.parts[1].limb(limb) + block * kBlock;
        kern.dot2(out0, out1, x.data(), y0.data(), y1.data(), count, false, kBlock, m);
        kern.add(out0, out0, plain, kBlock, m);
      }
    reports_.add(1);
  });
}

// From q_0 to 2^k, rounded; parts[0] without its low bits, rounded too.
void Query::send(const bfv::Ciphertext& value, std::uint8_t* dst) const {
  const bfv::Ciphertext low = evaluator_.mod_switch_to(value, 1);
  const u64 q = plan_.q[0];
  const unsigned k = plan_.reply_bits;
  // floor(2^(k+64)/q): off by less than x/2^64 in what it multiplies.
  const auto factor = static_cast<u64>((static_cast<unsigned __int128>(1) << (k + 64)) / q);
  constexpr unsigned __int128 kHalf = static_cast<unsigned __int128>(1) << 63;
  WordBuffer x(n_);
  for (unsigned part = 0; part < kParts; ++part) {
    intt(x.data(), low.parts[part].limb(0), low.parts[part].basis()[0]);
    const unsigned drop = part == 0 ? plan_.reply_drop : 0, bits = k - drop;
    const u64 half = drop > 0 ? u64{1} << (drop - 1) : 0, mask = (u64{1} << bits) - 1;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto scaled = static_cast<u64>((static_cast<unsigned __int128>(x.data()[i]) * factor + kHalf) >> 64);
      x.data()[i] = ((scaled + half) >> drop) & mask;
    }
    pack_bits(dst, x.data(), n_, bits);
    dst += packed_bytes(n_, bits);
  }
}

void Query::column(std::size_t column, const std::uint8_t* request, u64 key_id, std::uint8_t* reply) {
  make_powers(request, key_id);
  const std::size_t count = bundles_ * plan_.polys();
  const Basis basis = ctx_.basis(plan_.plain_limbs);
  std::vector<bfv::Ciphertext> values;
  for (std::size_t i = 0; i < count; ++i) {
    rlwe::Ciphertext c;
    c.key_id = key_id;
    c.parts.emplace_back(basis);
    c.parts.emplace_back(basis);
    values.emplace_back(plan_.t, bfv::Noise{}, std::move(c));
  }
  multiply(column, values);
  const std::size_t each = packed_bytes(n_, plan_.reply_bits - plan_.reply_drop) + packed_bytes(n_, plan_.reply_bits);
  parallel_for(threads_, count, [&](std::size_t i) {
    send(values[i], reply + i * each);
    reports_.add(1);
  });
  counts_.row += count * plan_.degree;
  counts_.reply += count;
}

}  // namespace

std::vector<std::uint8_t> psi_poly_answer(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> request,
                                          const PsiPolyTable& table, unsigned threads, const PsiPolyProgress& progress,
                                          PsiPolyCounts* counts) {
  const PsiPolyPlan& plan = keys.plan();
  u64 id = 0;
  const std::uint8_t* body =
      open_poly_message(request, plan.request_bytes(), kPsiPolyRequestType, *keys.context(), &id);
  if (id != keys.key().key().key_id)
    throw MismatchError("the request is for other keys than this session's: open a session with its keys");
  std::vector<std::uint8_t> reply(plan.reply_bytes());
  std::uint8_t* to = io::begin_record(reply, kPsiPolyReplyType, keys.context()->hash());
  std::memcpy(to, &id, sizeof(id));
  to += sizeof(id);
  Query query(keys, table, plan.columns, plan.bundles, threads, progress);
  const std::size_t in = (plan.request_bytes() - io::record_bytes(kPsiPolyMessageHead)) / plan.columns;
  const std::size_t out = (plan.reply_bytes() - io::record_bytes(kPsiPolyMessageHead)) / plan.columns;
  for (std::size_t c = 0; c < plan.columns; ++c) query.column(c, body + c * in, id, to + c * out);
  io::seal_record(reply);
  if (counts != nullptr) *counts = query.counts();
  return reply;
}

std::vector<std::vector<std::uint8_t>> psi_poly_cut_request(const PsiPolySessionKeys& keys,
                                                            std::span<const std::uint8_t> request) {
  const PsiPolyPlan& plan = keys.plan();
  u64 id = 0;
  const std::uint8_t* body =
      open_poly_message(request, plan.request_bytes(), kPsiPolyRequestType, *keys.context(), &id);
  if (id != keys.key().key().key_id)
    throw MismatchError("the request is for other keys than this session's: open a session with its keys");
  const std::size_t each = (plan.request_bytes() - io::record_bytes(kPsiPolyMessageHead)) / plan.columns;
  std::vector<std::vector<std::uint8_t>> columns;
  for (std::size_t c = 0; c < plan.columns; ++c) columns.emplace_back(body + c * each, body + (c + 1) * each);
  return columns;
}

std::vector<std::uint8_t> psi_poly_answer_part(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> column,
                                               const PsiPolyTable& table, std::size_t bundles, unsigned threads,
                                               const PsiPolyProgress& progress, PsiPolyCounts* counts) {
  const PsiPolyPlan& plan = keys.plan();
  const std::size_t each = (plan.request_bytes() - io::record_bytes(kPsiPolyMessageHead)) / plan.columns;
  if (column.size() != each)
    throw FormatError("a column of a request has " + std::to_string(each) + " bytes, not " +
                      std::to_string(column.size()));
  std::vector<std::uint8_t> values((plan.reply_bytes() - io::record_bytes(kPsiPolyMessageHead)) / plan.columns /
                                   plan.bundles * bundles);
  Query query(keys, table, 1, bundles, threads, progress);
  query.column(0, column.data(), keys.key().key().key_id, values.data());
  if (counts != nullptr) *counts = query.counts();
  return values;
}

std::vector<std::uint8_t> psi_poly_seal_reply(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> values) {
  const PsiPolyPlan& plan = keys.plan();
  const std::size_t size = plan.reply_bytes() - io::record_bytes(kPsiPolyMessageHead);
  if (values.size() != size)
    throw ShapeError("the values of a query have " + std::to_string(size) + " bytes, not " +
                     std::to_string(values.size()));
  std::vector<std::uint8_t> reply(plan.reply_bytes());
  std::uint8_t* to = io::begin_record(reply, kPsiPolyReplyType, keys.context()->hash());
  const u64 id = keys.key().key().key_id;
  std::memcpy(to, &id, sizeof(id));
  std::memcpy(to + sizeof(id), values.data(), size);
  io::seal_record(reply);
  return reply;
}

}  // namespace ringforge::circuits

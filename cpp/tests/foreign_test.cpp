// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What if an argument belongs to another context: ring, primes, digits, secret key, plan? One row for each public
// function and argument, with the error that answers. Every row is right until one argument is exchanged, and the
// worlds draw from one seed, so that key ids agree: only what an argument is made of can tell.
#include <atomic>
#include <cmath>
#include <functional>
#include <sstream>
#include <thread>

#include "ringforge/circuits/batch_matmul.hpp"
#include "ringforge/circuits/hlt.hpp"
#include "ringforge/circuits/matrix_product.hpp"
#include "ringforge/circuits/matvec.hpp"
#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/circuits/psi.hpp"
#include "ringforge/ckks/io.hpp"
#include "ringforge/fhew/gates.hpp"
#include "ringforge/oprf.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using namespace ringforge::circuits;
using namespace ringforge::ckks;
using rlwe::BaseConverter;
using rlwe::Digits;
using rlwe::DigitSource;
using rlwe::Gadget;
using rlwe::key_product;
using rlwe::switch_key;
using rlwe::SwitchingKey;
using C = std::complex<double>;

constexpr std::size_t kLevel = 3, kDim = 2;
constexpr double kScale = 0x1p40;

struct Kind {
  const char* name;
  unsigned log_n, bits, alpha;
  std::uint8_t seed;
};

Parameters parameters(const Kind& k) { return small_params(k.log_n, kLevel + 1, k.bits, 3, k.alpha, 38); }

/// One of everything, all of one parameter set.
struct World {
  explicit World(const Kind& k)
      : ctx(std::make_shared<const Context>(parameters(k))),
        client(ctx, TestRandomness(fixed_seed(k.seed))),
        sk(client.secret_key()),
        pk(client.public_key(sk)),
        relin(client.relin_key(sk)),
        ev(ctx),
        p(ctx->encode(std::span<const double>(values), kScale, kLevel)),
        c(client.encrypt(p, sk)),
        three(ev.mul(c, c)),
        slots(ctx->params().slots()),
        plan(linear::Packing(4, 4, slots, linear::Span::compact), linear::Algorithm::bsgs, 2),
        map(slots, {0, 1}, {0, 1, 2}, {0, 1}, {}),
        matvec(ctx, plan, kLevel),
        hlt(ctx, map, kLevel, Schedule::hoisted),
        pairs(ctx, pair_plan(), kLevel),
        batches(ctx, kDim),
        product(ctx, {2, 2, 2}) {
    const std::vector<double> ones(16, 0.25);
    matvec.encode(ones, {}, {kScale, kScale, 1});
    hlt.encode({kScale, kScale, 1});
    const auto last = static_cast<double>(ctx->basis(kLevel)[kLevel].value());
    pairs.encode({kScale, kScale, kScale * kScale / last, 1, 1, 1});
    std::vector<u64> elements = batches.required_keys();
    for (const auto& [element, level] : matvec.required_keys()) elements.push_back(element);
    for (const auto& [element, level] : pairs.required_keys()) elements.push_back(element);
    for (const auto step : hlt.steps()) elements.push_back(ctx->rotation_element(step));
    for (const i64 step : {1, 2}) elements.push_back(ctx->rotation_element(step));
    elements.push_back(ctx->conjugation_element());
    for (const u64 element : elements)
      if (!keys.contains(element)) keys.insert(client.galois_key(sk, element));
    const std::vector<C> matrices(kDim * kDim, 0.25);
    batch = batches.encrypt(client, sk, matrices, Lines::columns, kScale, kLevel);
    product_keys = product.make_keys(client, sk);
    product.prepare();
    left = product.encrypt_left(client, sk, square);
    right = product.encrypt_right(client, sk, square);
  }
  static PairSumPlan pair_plan() {
    PairSumPlan plan;
    ShiftTerm moved;
    moved.step = 1;
    plan.groups = {{0, {{{moved}, {ShiftTerm{}}}}}};
    return plan;
  }
  GaloisKey galois() const { return {keys.elements()[0], keys.at(keys.elements()[0])}; }

  std::vector<double> values = std::vector<double>(8, 0.5);
  ContextPtr ctx;
  Client client;
  SecretKey sk;
  PublicKey pk;
  RelinKey relin;
  Evaluator ev;
  Plaintext p;
  Ciphertext c, three;
  std::size_t slots;
  linear::Plan plan;
  linear::Diagonals map;
  Matvec matvec;
  Hlt hlt;
  PairSum pairs;
  BatchMatmul batches;
  MatrixProduct product;
  std::vector<double> square = std::vector<double>(4, 0.5);
  KeySet product_keys;
  Ciphertext left, right;
  GaloisKeys keys;
  MatrixBatch batch;
};

struct Row {
  const char* function;
  const char* argument;
  std::function<void()> call;
  const char* error = "mismatch";
};

std::string outcome(const std::function<void()>& call) {
  try {
    call();
  } catch (const MismatchError&) {
    return "mismatch";
  } catch (const ShapeError&) {
    return "shape";
  } catch (const LevelError&) {
    return "level";
  } catch (const MissingKeyError&) {
    return "missing";
  } catch (const ParameterError&) {
    return "parameter";
  } catch (const ValueError&) {
    return "value";
  } catch (const FormatError&) {
    return "format";
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("untyped: ") + e.what();
  }
  return "none";
}

void expect_all(const std::vector<Row>& rows, const std::string& world) {
  for (const Row& row : rows)
    EXPECT_EQ(outcome(row.call), row.error) << row.function << ", foreign " << row.argument << ", " << world;
}

/// Polynomials and keys of other primes, another ring or other digits; `use` takes the rows. `cut`: digits alone
/// differ.
void objects(World& w, World& f, bool cut, const std::function<void(const std::vector<Row>&)>& use) {
  std::stringstream out;
  const auto one = [](const Ciphertext& c) { return std::vector<const Ciphertext*>{&c}; };
  const auto values = std::vector<C>(kDim * kDim, 0.25);
  const auto run_pairs = [&, one](const Ciphertext& l, const Ciphertext& r, const GaloisKeys& k, const RelinKey& rk) {
    const auto left = one(l), right = one(r);
    (void)w.pairs.run(left, right, {k, rk});
  };
  const Gadget& g = w.ctx->gadget();
  const auto key = w.keys.at(w.ctx->rotation_element(1)), other = f.keys.at(f.ctx->rotation_element(1));
  std::vector<Row> rows = {
      // Evaluation keys: cut into other digits they are foreign as well.
      {"Evaluator::relinearize", "key", [&] { (void)w.ev.relinearize(w.three, f.relin); }},
      {"Evaluator::rotate", "keys", [&] { (void)w.ev.rotate(w.c, 1, f.keys); }},
      {"Evaluator::conjugate", "keys",
       [&] {
         GaloisKeys k;
         k.insert({w.ctx->conjugation_element(), f.keys.at(f.ctx->conjugation_element())});
         (void)w.ev.conjugate(w.c, k);
       }},
      {"Evaluator::double_real", "keys",
       [&] {
         GaloisKeys k;
         k.insert({w.ctx->conjugation_element(), f.keys.at(f.ctx->conjugation_element())});
         (void)w.ev.double_real(w.c, k);
       }},
      {"Evaluator::apply_galois", "keys", [&] { (void)w.ev.apply_galois(w.c, 5, f.keys); }},
      {"Evaluator::replicate", "keys", [&] { (void)w.ev.replicate(w.c, std::vector<i64>{1}, f.keys); }},
      {"Evaluator::rotate_hoisted", "keys", [&] { (void)w.ev.rotate_hoisted(w.c, std::vector<i64>{1}, f.keys); }},
      {"Matvec::run", "keys", [&] { (void)w.matvec.run({&w.c, 1}, f.keys); }},
      {"Hlt::run", "keys", [&] { (void)w.hlt.run(w.c, f.keys); }},
      {"PairSum::run", "keys", [&] { run_pairs(w.c, w.c, f.keys, w.relin); }},
      {"PairSum::run", "relin", [&] { run_pairs(w.c, w.c, w.keys, f.relin); }},
      {"BatchMatmul::multiply", "relin", [&] { (void)w.batches.multiply(w.batch, w.batch, {w.keys, f.relin}); }},
      {"io::save", "relin key", [&] { io::save(out, *w.ctx, f.relin); }},
      {"io::save", "Galois key", [&] { io::save(out, *w.ctx, f.galois()); }},
      {"SwitchingKey::check", "gadget", [&] { key->check(f.ctx->gadget(), 1); }},
      {"switch_key", "key",
       [&] {
         Poly<Eval> u0(g.extended(kLevel + 1)), u1(g.extended(kLevel + 1));
         switch_key(u0, u1, w.c.parts[1], *other, g);
       }},
      {"key_product", "key",
       [&] {
         Poly<Eval> u0(g.extended(kLevel + 1)), u1(g.extended(kLevel + 1));
         key_product(u0, u1, Digits(w.c.parts[1], g), *other, g, false);
       }},
      {"key_product", "digits",
       [&] {
         Poly<Eval> u0(g.extended(kLevel + 1)), u1(g.extended(kLevel + 1));
         key_product(u0, u1, Digits(f.c.parts[1], f.ctx->gadget()), *key, g, false);
       }},
  };
  // A larger ring has no key under the smaller one's elements, so each element gets a foreign key.
  rows.push_back({"BatchMatmul::multiply", "galois", [&] {
                    GaloisKeys k;
                    for (const u64 e : w.batches.required_keys()) k.insert({e, f.galois().key});
                    (void)w.batches.multiply(w.batch, w.batch, {k, w.relin});
                  }});
  rows.push_back({"BatchMatmul::convert", "galois", [&] {
                    GaloisKeys k;
                    for (const u64 e : w.batches.required_keys()) k.insert({e, f.galois().key});
                    (void)w.batches.convert(w.batch, Lines::rows, k);
                  }});
  if (cut) return use(rows);
  const std::vector<Row> more = {
      {"Context::check", "plaintext", [&] { w.ctx->check(f.p); }},
      {"Context::check", "ciphertext", [&] { w.ctx->check(f.c); }},
      {"SecretKey::check", "gadget", [&] { w.sk.check(f.ctx->gadget()); }},
      {"PublicKey::check", "gadget", [&] { w.pk.check(f.ctx->gadget()); }},
      {"Context::decode", "plaintext", [&] { (void)w.ctx->decode(f.p); }},
      {"Client::public_key", "secret key", [&] { (void)w.client.public_key(f.sk); }},
      {"Client::relin_key", "secret key", [&] { (void)w.client.relin_key(f.sk); }},
      {"Client::galois_key", "secret key", [&] { (void)w.client.galois_key(f.sk, 5); }},
      {"Client::encrypt", "plaintext", [&] { (void)w.client.encrypt(f.p, w.sk); }},
      {"Client::encrypt", "secret key", [&] { (void)w.client.encrypt(w.p, f.sk); }},
      {"Client::encrypt", "both", [&] { (void)w.client.encrypt(f.p, f.sk); }},
      {"Client::encrypt (public)", "plaintext", [&] { (void)w.client.encrypt(f.p, w.pk); }},
      {"Client::encrypt (public)", "key", [&] { (void)w.client.encrypt(w.p, f.pk); }},
      {"Client::encrypt (public)", "both", [&] { (void)w.client.encrypt(f.p, f.pk); }},
      {"Client::decrypt", "ciphertext", [&] { (void)w.client.decrypt(f.c, w.sk); }},
      {"Client::decrypt", "secret key", [&] { (void)w.client.decrypt(w.c, f.sk); }},
      {"Client::decrypt", "both", [&] { (void)w.client.decrypt(f.c, f.sk); }},
      {"Client::decrypt_to_share", "ciphertext", [&] { (void)w.client.decrypt_to_share(f.c, w.sk, 10); }},
      {"Client::decrypt_to_share", "secret key", [&] { (void)w.client.decrypt_to_share(w.c, f.sk, 10); }},
      {"Evaluator::add", "left", [&] { (void)w.ev.add(f.c, w.c); }},
      {"Evaluator::add", "right", [&] { (void)w.ev.add(w.c, f.c); }},
      {"Evaluator::sub", "left", [&] { (void)w.ev.sub(f.c, w.c); }},
      {"Evaluator::sub", "right", [&] { (void)w.ev.sub(w.c, f.c); }},
      {"Evaluator::add_in_place", "left",
       [&] {
         ckks::Ciphertext r(f.c);
         w.ev.add_in_place(r, w.c);
       }},
      {"Evaluator::add_in_place", "right",
       [&] {
         ckks::Ciphertext r(w.c);
         w.ev.add_in_place(r, f.c);
       }},
      {"Evaluator::sub_in_place", "left",
       [&] {
         ckks::Ciphertext r(f.c);
         w.ev.sub_in_place(r, w.c);
       }},
      {"Evaluator::sub_in_place", "right",
       [&] {
         ckks::Ciphertext r(w.c);
         w.ev.sub_in_place(r, f.c);
       }},
      {"Evaluator::negate", "ciphertext", [&] { (void)w.ev.negate(f.c); }},
      {"Evaluator::add_plain", "ciphertext", [&] { (void)w.ev.add_plain(f.c, w.p); }},
      {"Evaluator::add_plain", "plaintext", [&] { (void)w.ev.add_plain(w.c, f.p); }},
      {"Evaluator::sub_plain", "ciphertext", [&] { (void)w.ev.sub_plain(f.c, w.p); }},
      {"Evaluator::sub_plain", "plaintext", [&] { (void)w.ev.sub_plain(w.c, f.p); }},
      {"Evaluator::add_scalar", "ciphertext", [&] { (void)w.ev.add_scalar(f.c, 1); }},
      {"Evaluator::mul_plain", "ciphertext", [&] { (void)w.ev.mul_plain(f.c, w.p); }},
      {"Evaluator::mul_plain", "plaintext", [&] { (void)w.ev.mul_plain(w.c, f.p); }},
      {"Evaluator::mul_scalar", "ciphertext", [&] { (void)w.ev.mul_scalar(f.c, 1); }},
      {"Evaluator::mul", "left", [&] { (void)w.ev.mul(f.c, w.c); }},
      {"Evaluator::mul", "right", [&] { (void)w.ev.mul(w.c, f.c); }},
      {"Evaluator::relinearize", "ciphertext", [&] { (void)w.ev.relinearize(f.three, w.relin); }},
      {"Evaluator::rescale", "ciphertext", [&] { (void)w.ev.rescale(f.three); }},
      {"Evaluator::drop_to_level", "ciphertext", [&] { (void)w.ev.drop_to_level(f.c, 1); }},
      {"Evaluator::rotate", "ciphertext", [&] { (void)w.ev.rotate(f.c, 1, w.keys); }},
      {"Evaluator::rotate", "ciphertext, by 0", [&] { (void)w.ev.rotate(f.c, 0, w.keys); }},
      {"Evaluator::conjugate", "ciphertext", [&] { (void)w.ev.conjugate(f.c, w.keys); }},
      {"Evaluator::double_real", "ciphertext", [&] { (void)w.ev.double_real(f.c, w.keys); }},
      {"Evaluator::apply_galois", "ciphertext", [&] { (void)w.ev.apply_galois(f.c, 5, w.keys); }},
      {"Evaluator::replicate", "ciphertext", [&] { (void)w.ev.replicate(f.c, std::vector<i64>{1}, w.keys); }},
      {"Evaluator::rotate_hoisted", "ciphertext", [&] { (void)w.ev.rotate_hoisted(f.c, std::vector<i64>{1}, w.keys); }},
      {"Matvec::run", "inputs", [&] { (void)w.matvec.run({&f.c, 1}, w.keys); }},
      {"Matvec::check_inputs", "inputs", [&] { w.matvec.check_inputs({&f.c, 1}); }},
      {"Matvec::assemble", "inputs", [&] { (void)w.matvec.assemble({&f.c, 1}, {}); }},
      {"Hlt::run", "input", [&] { (void)w.hlt.run(f.c, w.keys); }},
      {"PairSum::run", "left", [&] { run_pairs(f.c, w.c, w.keys, w.relin); }},
      {"PairSum::run", "right", [&] { run_pairs(w.c, f.c, w.keys, w.relin); }},
      {"MatrixProduct::encrypt_left", "client", [&] { (void)w.product.encrypt_left(f.client, w.sk, w.square); }},
      {"MatrixProduct::encrypt_right", "key", [&] { (void)w.product.encrypt_right(w.client, f.sk, w.square); }},
      {"MatrixProduct::encrypt_right (public)", "key",
       [&] { (void)w.product.encrypt_right(w.client, f.pk, w.square); }},
      {"MatrixProduct::make_keys", "client", [&] { (void)w.product.make_keys(f.client, w.sk); }},
      {"MatrixProduct::make_keys", "key", [&] { (void)w.product.make_keys(w.client, f.sk); }},
      {"MatrixProduct::left", "a", [&] { (void)w.product.left(f.left, w.product_keys); }},
      {"MatrixProduct::right", "b", [&] { (void)w.product.right(f.right, w.product_keys); }},
      {"MatrixProduct::multiply", "factor",
       [&] {
         (void)w.product.multiply(w.product.left(w.left, w.product_keys), f.product.right(f.right, f.product_keys),
                                  w.product_keys);
       }},
      {"MatrixProduct::decrypt", "client", [&] { (void)w.product.decrypt(f.client, w.sk, w.left); }},
      {"MatrixProduct::decrypt", "key", [&] { (void)w.product.decrypt(w.client, f.sk, w.left); }},
      {"MatrixProduct::decrypt", "ciphertext", [&] { (void)w.product.decrypt(w.client, w.sk, f.left); }},
      {"BatchMatmul::decode", "lines",
       [&] { (void)w.batches.decode(std::vector<Plaintext>(kDim, f.p), Lines::columns); }},
      {"BatchMatmul::encrypt", "client",
       [&] { (void)w.batches.encrypt(f.client, w.sk, values, Lines::columns, kScale, kLevel); }},
      {"BatchMatmul::encrypt", "key",
       [&] { (void)w.batches.encrypt(w.client, f.sk, values, Lines::columns, kScale, kLevel); }},
      {"BatchMatmul::encrypt (public)", "key",
       [&] { (void)w.batches.encrypt(w.client, f.pk, values, Lines::columns, kScale, kLevel); }},
      {"BatchMatmul::decrypt", "client", [&] { (void)w.batches.decrypt(f.client, w.sk, w.batch); }},
      {"BatchMatmul::decrypt", "key", [&] { (void)w.batches.decrypt(w.client, f.sk, w.batch); }},
      {"BatchMatmul::decrypt", "batch", [&] { (void)w.batches.decrypt(w.client, w.sk, f.batch); }},
      {"BatchMatmul::multiply", "left", [&] { (void)w.batches.multiply(f.batch, w.batch, {w.keys, w.relin}); }},
      {"BatchMatmul::multiply", "right", [&] { (void)w.batches.multiply(w.batch, f.batch, {w.keys, w.relin}); }},
      {"BatchMatmul::convert", "batch", [&] { (void)w.batches.convert(f.batch, Lines::rows, w.keys); }},
      {"BatchMatmul::drop_to_level", "batch", [&] { (void)w.batches.drop_to_level(f.batch, 1); }},
      {"BatchMatmul::error_bound", "batch", [&] { (void)w.batches.error_bound(f.batch); }},
      {"io::save", "plaintext", [&] { io::save(out, *w.ctx, f.p); }},
      {"io::save", "ciphertext", [&] { io::save(out, *w.ctx, f.c); }},
      {"io::save", "secret key", [&] { io::save(out, *w.ctx, f.sk); }},
      {"io::save", "public key", [&] { io::save(out, *w.ctx, f.pk); }},
      {"SwitchingKey::make", "from",
       [&] {
         TestRandomness rng(fixed_seed());
         (void)SwitchingKey::make(f.sk.eval(), w.sk.eval(), 0, g, kLevel + 1, rng);
       }},
      {"SwitchingKey::make", "to",
       [&] {
         TestRandomness rng(fixed_seed());
         (void)SwitchingKey::make(w.sk.eval(), f.sk.eval(), 0, g, kLevel + 1, rng);
       }},
      {"Digits", "polynomial", [&] { (void)Digits(f.c.parts[1], g); }},
      {"DigitSource", "polynomial", [&] { (void)DigitSource(f.c.parts[1], g); }},
      {"ModulusDrop::apply", "polynomial", [&] { (void)g.rescale(kLevel + 1).apply(f.c.parts[0]); }},
      {"switch_key", "result",
       [&] {
         Poly<Eval> u0(f.ctx->gadget().extended(kLevel + 1)), u1(g.extended(kLevel + 1));
         switch_key(u0, u1, w.c.parts[1], *key, g);
       }},
      {"switch_key", "polynomial",
       [&] {
         Poly<Eval> u0(g.extended(kLevel + 1)), u1(g.extended(kLevel + 1));
         switch_key(u0, u1, f.c.parts[1], *key, g);
       }},
      {"key_product", "result",
       [&] {
         Poly<Eval> u0(g.extended(kLevel + 1)), u1(f.ctx->gadget().extended(kLevel + 1));
         key_product(u0, u1, Digits(w.c.parts[1], g), *key, g, false);
       }},
      {"ringforge::add", "polynomial",
       [&] {
         Poly<Eval> sum(w.c.parts[0].basis());
         add(sum, w.c.parts[0], f.c.parts[0]);
       }},
      {"ringforge::sub", "polynomial",
       [&] {
         Poly<Eval> sum(w.c.parts[0].basis());
         sub(sum, f.c.parts[0], w.c.parts[0]);
       }},
      {"ringforge::neg", "result",
       [&] {
         Poly<Eval> sum(f.c.parts[0].basis());
         neg(sum, w.c.parts[0]);
       }},
      {"ringforge::mul", "polynomial",
       [&] {
         Poly<Eval> sum(w.c.parts[0].basis());
         mul(sum, w.c.parts[0], f.c.parts[0]);
       }},
      {"ringforge::mul_add", "polynomial",
       [&] {
         Poly<Eval> sum(w.c.parts[0].basis());
         mul_add(sum, w.c.parts[0], f.c.parts[0]);
       }},
  };
  rows.insert(rows.end(), more.begin(), more.end());
  use(rows);
}

/// Of another ring only.
std::vector<Row> rings(World& w, World& f) {
  std::vector<Row> rows = {
      {"Matvec", "plan", [&] { (void)Matvec(w.ctx, f.plan, kLevel); }, "shape"},
      {"Hlt", "map", [&] { (void)Hlt(w.ctx, f.map, kLevel, Schedule::mo); }, "shape"},
      {"Gadget", "P", [&] { (void)Gadget(w.ctx->gadget().q(), f.ctx->gadget().p(), {3, 0}); }},
      {"Basis::join", "basis", [&] { (void)w.ctx->gadget().q().join(f.ctx->gadget().p()); }},
      {"BaseConverter", "to", [&] { (void)BaseConverter(w.ctx->gadget().q(), f.ctx->gadget().p()); }},
      {"SmallPoly::lift", "basis",
       [&] { (void)sample_ternary(16, fixed_seed(), StreamObject::secret).lift(w.ctx->full_basis()); }},
      {"SecretKey", "coefficients",
       [&] { (void)SecretKey(w.ctx->full_basis(), sample_ternary(16, fixed_seed(), StreamObject::secret), 1); },
       "format"},
  };
  if (f.slots > w.slots)
    rows.push_back({"Matvec::cost", "plan", [&] { (void)Matvec::cost(*w.ctx, f.plan, kLevel); }, "shape"});
  return rows;
}

/// Of the same parameters, under another secret key.
std::vector<Row> keys(World& w, World& f) {
  return {
      {"Client::decrypt", "secret key", [&] { (void)w.client.decrypt(w.c, f.sk); }},
      {"Client::decrypt_to_share", "secret key", [&] { (void)w.client.decrypt_to_share(w.c, f.sk, 10); }},
      {"Evaluator::add", "ciphertext", [&] { (void)w.ev.add(w.c, f.c); }},
      {"Evaluator::sub", "ciphertext", [&] { (void)w.ev.sub(w.c, f.c); }},
      {"Evaluator::mul", "ciphertext", [&] { (void)w.ev.mul(w.c, f.c); }},
      {"Evaluator::relinearize", "key", [&] { (void)w.ev.relinearize(w.three, f.relin); }},
      {"Evaluator::rotate", "keys", [&] { (void)w.ev.rotate(w.c, 1, f.keys); }},
      {"Evaluator::conjugate", "keys", [&] { (void)w.ev.conjugate(w.c, f.keys); }},
      {"Evaluator::double_real", "keys", [&] { (void)w.ev.double_real(w.c, f.keys); }},
      {"Evaluator::apply_galois", "keys", [&] { (void)w.ev.apply_galois(w.c, 5, f.keys); }},
      {"Evaluator::replicate", "keys", [&] { (void)w.ev.replicate(w.c, std::vector<i64>{1}, f.keys); }},
      {"Evaluator::rotate_hoisted", "keys", [&] { (void)w.ev.rotate_hoisted(w.c, std::vector<i64>{1}, f.keys); }},
      {"Matvec::run", "keys", [&] { (void)w.matvec.run({&w.c, 1}, f.keys); }},
      {"Hlt::run", "keys", [&] { (void)w.hlt.run(w.c, f.keys); }},
      {"PairSum::run", "right",
       [&] {
         const std::vector<const Ciphertext*> left{&w.c}, right{&f.c};
         (void)w.pairs.run(left, right, {w.keys, w.relin});
       }},
      {"PairSum::run", "keys",
       [&] {
         const std::vector<const Ciphertext*> both{&w.c};
         (void)w.pairs.run(both, both, {f.keys, w.relin});
       }},
      {"PairSum::run", "relin",
       [&] {
         const std::vector<const Ciphertext*> both{&w.c};
         (void)w.pairs.run(both, both, {w.keys, f.relin});
       }},
      {"BatchMatmul::decrypt", "key", [&] { (void)w.batches.decrypt(w.client, f.sk, w.batch); }},
      {"BatchMatmul::multiply", "right", [&] { (void)w.batches.multiply(w.batch, f.batch, {w.keys, w.relin}); }},
      {"BatchMatmul::multiply", "galois", [&] { (void)w.batches.multiply(w.batch, w.batch, {f.keys, w.relin}); }},
      {"BatchMatmul::multiply", "relin", [&] { (void)w.batches.multiply(w.batch, w.batch, {w.keys, f.relin}); }},
      {"BatchMatmul::convert", "galois", [&] { (void)w.batches.convert(w.batch, Lines::rows, f.keys); }},
  };
}

/// Objects that hold nothing, and numbers of a larger world.
std::vector<Row> nothing(World& w) {
  return {
      {"Context::decode", "empty plaintext", [&] { (void)w.ctx->decode(Plaintext{}); }},
      {"Client::encrypt", "empty plaintext", [&] { (void)w.client.encrypt(Plaintext{}, w.sk); }},
      {"Client::encrypt", "empty public key", [&] { (void)w.client.encrypt(w.p, PublicKey{}); }},
      {"Client::decrypt", "empty ciphertext", [&] { (void)w.client.decrypt(Ciphertext{}, w.sk); }, "shape"},
      {"Evaluator::add", "empty ciphertext", [&] { (void)w.ev.add(w.c, Ciphertext{}); }, "shape"},
      {"Evaluator::rotate", "empty ciphertext", [&] { (void)w.ev.rotate(Ciphertext{}, 0, w.keys); }, "shape"},
      {"Evaluator::relinearize", "empty key", [&] { (void)w.ev.relinearize(w.three, RelinKey(SwitchingKey{})); }},
      {"GaloisKeys::insert", "empty key", [&] { GaloisKeys().insert(GaloisKey{5, nullptr}); }, "parameter"},
      {"GaloisKeys::at", "element", [&] { (void)w.keys.at(3); }, "missing"},
      {"io::save", "empty Galois key",
       [&] {
         std::stringstream out;
         io::save(out, *w.ctx, GaloisKey{5, nullptr});
       },
       "parameter"},
      {"PairSum::run", "no operand",
       [&] {
         const std::vector<const Ciphertext*> none{nullptr}, one{&w.c};
         (void)w.pairs.run(none, one, {w.keys, w.relin});
       },
       "shape"},
      {"Context::basis", "level", [&] { (void)w.ctx->basis(kLevel + 1); }, "level"},
      {"Gadget::extended", "limbs", [&] { (void)w.ctx->gadget().extended(kLevel + 2); }, "level"},
      {"Gadget::mod_down", "limbs", [&] { (void)w.ctx->gadget().mod_down(0); }, "level"},
      {"Gadget::mod_down_rescale", "limbs", [&] { (void)w.ctx->gadget().mod_down_rescale(kLevel + 2); }, "level"},
      {"Gadget::rescale", "limbs", [&] { (void)w.ctx->gadget().rescale(kLevel + 2); }, "level"},
      {"Basis::prefix", "limbs", [&] { (void)w.ctx->gadget().q().prefix(kLevel + 2); }, "level"},
      {"Basis::slice", "limbs", [&] { (void)w.ctx->gadget().q().slice(2, kLevel); }, "level"},
      {"Poly::prefix", "limbs", [&] { (void)w.c.parts[0].prefix(kLevel + 2); }, "level"},
      {"SwitchingKey::make", "limbs",
       [&] {
         TestRandomness rng(fixed_seed());
         (void)SwitchingKey::make(w.sk.eval(), w.sk.eval(), 0, w.ctx->gadget(), kLevel + 2, rng);
       },
       "level"},
      {"automorphism", "element", [&] { (void)automorphism(w.c.parts[0], 2 * w.ctx->ring().index() + 1); },
       "parameter"},
      {"Matvec", "batch that wraps around",
       [&] { (void)Matvec(w.ctx, w.plan, kLevel, (std::size_t{1} << 63) / w.slots * 2 + 1); }, "shape"},
      {"Matvec::cost", "level", [&] { (void)Matvec::cost(*w.ctx, w.plan, kLevel + 1); }, "level"},
      {"Matvec::copy_term", "limb",
       [&] {
         std::vector<u64> words(2 * w.slots);
         w.matvec.copy_term(0, kLevel + 1, words);
       },
       "shape"},
      {"BatchMatmul::cost", "level", [&] { (void)w.batches.cost(kLevel + 1); }, "level"},
  };
}

TEST(Foreign, ObjectsOfOtherParametersAreRefused) {
  World here({"", 11, 45, 2, 7});
  // Equal key ids: only the polynomials differ.
  for (const Kind& kind : {Kind{"a smaller ring", 10, 45, 2, 7}, Kind{"a larger ring", 12, 45, 2, 7},
                           Kind{"other primes", 11, 44, 2, 7}, Kind{"other digits", 11, 45, 3, 7}}) {
    World there(kind);
    ASSERT_EQ(here.sk.id(), there.sk.id());
    const bool cut = kind.log_n == 11 && kind.bits == 45;
    objects(here, there, cut, [&](const auto& rows) { expect_all(rows, kind.name); });
    if (kind.log_n != 11) expect_all(rings(here, there), kind.name);
  }
}

TEST(Foreign, ObjectsOfAnotherKeyAreRefused) {
  World here({"", 11, 45, 2, 7}), there({"", 11, 45, 2, 8});
  ASSERT_NE(here.sk.id(), there.sk.id());
  expect_all(keys(here, there), "another secret key");
}

TEST(Foreign, NothingAndTooMuchAreRefused) {
  World here({"", 11, 45, 2, 7});
  expect_all(nothing(here), "the same parameters");
}

TEST(Foreign, EveryCallOfTheTableIsGoodWithItsOwnArguments) {
  World w({"", 11, 45, 2, 7});
  objects(w, w, false, [](const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const std::string got = outcome(row.call);
      // `assemble` is given no polynomials, which its inputs' check comes before.
      EXPECT_EQ(got, row.function == std::string("Matvec::assemble") ? "shape" : "none")
          << row.function << ", " << row.argument;
    }
  });
  for (const Row& row : keys(w, w)) EXPECT_EQ(outcome(row.call), "none") << row.function << ", " << row.argument;
}

// ---- small rings ----------------------------------------------------------------------------------

fhew::GateParameters gate_set(unsigned n, unsigned log_n) {
  fhew::GateParameters p;
  p.name = "small";
  p.insecure = "tests";
  p.n = n;
  p.log_q = 16;
  p.log_n = log_n;
  p.modulus = 67104769;
  p.a = {6, 3, 8, true};
  p.b = {6, 2, 14, true};
  p.automorphism = {6, 3, 8, true};
  p.window = 5;
  p.ap_base = 4;
  p.key_switch = {true, 91, 2, 3, true};
  return p;
}

TEST(Foreign, GatesAndOprfRefuse) {
  using namespace fhew;
  TestRandomness rng(fixed_seed());
  const GateSecretKey mine(gate_set(64, 10), rng), theirs(gate_set(72, 10), rng);
  const auto key = GateEvaluationKey::make(mine, Method::ginx, rng);
  std::vector<u32> words(2 * 65);
  std::stringstream file;
  key.save(file);
  const std::uint8_t nand = static_cast<std::uint8_t>(GateKind::nand_), unknown = kGateKinds;
  const std::int32_t inputs[] = {0, 1, -1}, outputs[] = {1}, beyond[] = {2};
  std::vector<u64> accumulators(2 * 1024);
  const u32 index = 0;
  std::vector<std::uint8_t> two(2 * oprf::kElementBytes);
  const std::vector<std::uint8_t> text{1, 2, 3};
  const std::vector<u64> one_string{0, 3};
  auto blinded = oprf::blind_batch({text, one_string}, rng);
  const auto secret = oprf::ServerKey::random(rng);
  expect_all(
      {
          {"fhew::trace", "secret", [&] { (void)trace(key, theirs, GateKind::nand_, &words[0], &words[65]); }},
          {"GateSecretKey", "coefficients",
           [&] {
             (void)GateSecretKey(gate_set(64, 10), SmallPoly(63),
                                 sample_ternary(1024, fixed_seed(), StreamObject::secret), 1);
           },
           "format"},
          {"GateEvaluationKey::load", "params",
           [&] {
             std::istringstream in(file.str());
             (void)GateEvaluationKey::load(in, gate_set(72, 10));
           }},
          {"fhew::evaluate", "kind", [&] { evaluate(key, {&unknown, inputs, outputs, 1}, words.data(), 2); },
           "parameter"},
          {"fhew::evaluate", "wire", [&] { evaluate(key, {&nand, inputs, beyond, 1}, words.data(), 2); }, "shape"},
          {"fhew::accumulate", "key", [&] { accumulate(key, accumulators.data(), 1, &index, 1); }, "parameter"},
          {"RingSecret", "coefficients",
           [&] {
             (void)RingSecret<u32>(SmallRing<u32>::get(67104769, 10),
                                   sample_ternary(512, fixed_seed(), StreamObject::secret));
           }},
          {"oprf::evaluate_batch", "elements", [&] { (void)oprf::evaluate_batch(secret, {two.data(), 33}); }, "shape"},
          {"oprf::finalize_batch", "elements",
           [&] { (void)oprf::finalize_batch({text, one_string}, blinded.blinds, two); }, "shape"},
          {"oprf::finalize_batch", "blinds", [&] { (void)oprf::finalize_batch({}, blinded.blinds, {}); }, "shape"},
          {"oprf::ServerKey::from_bytes", "bytes", [&] { (void)oprf::ServerKey::from_bytes({two.data(), 31}); },
           "shape"},
      },
      "small rings");
}

circuits::PsiPlan psi_plan(unsigned log_bins) {
  circuits::PsiPlan plan;
  plan.algorithm = circuits::PsiAlgorithm::paper;
  plan.modulus = 0x3FFFFFFFFED001;
  plan.log_bins = log_bins;
  plan.cell_bits = 11;
  plan.log_t = 3;
  plan.gadget = {9, 6, 0, true};
  plan.expansion.assign(11, plan.gadget);
  plan.log_reply = 12;
  plan.insecure = "tests";
  return plan;
}

TEST(Foreign, LookupsRefuse) {
  using namespace fhew;
  const PsiPlan plan = psi_plan(3), other = psi_plan(4);
  TestRandomness rng(fixed_seed());
  PsiClientKey client(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  client.evaluation_keys(keys.data());
  const PsiSessionKeys session(plan, keys);
  const std::vector<u32> cells(plan.bins()), far(plan.bins(), static_cast<u32>(plan.cells()));
  client.query(request.data(), cells.data());
  std::vector<u64> offsets(plan.bins() + 1), wild(plan.bins() + 1, 7);
  const PsiTable table{offsets.data(), nullptr, nullptr, 0}, broken{wild.data(), nullptr, nullptr, 0};
  std::vector<std::uint16_t> words(plan.bins());
  expect_all(
      {
          {"PsiSessionKeys", "plan", [&] { (void)PsiSessionKeys(other, keys); }},
          {"psi_answer", "request", [&] { (void)psi_answer(session, {request.data(), request.size() - 1}, table); },
           "format"},
          {"PsiClientKey::query", "cells", [&] { client.query(request.data(), far.data()); }, "value"},
          {"PsiClientKey::decode", "reply", [&] { client.decode(words.data(), {request.data(), 5}); }, "format"},
          {"check_table", "offsets", [&] { check_table(plan, broken); }, "format"},
      },
      "another plan");
}

// ---- keys that others change ----------------------------------------------------------------------

TEST(Foreign, ErasedKeysServeTheEvaluationThatBeganWithThem) {
  World w({"", 11, 45, 2, 7});
  // A linear map reports its key set gone in the middle of a run: after the first key product.
  const auto before = w.hlt.run(w.c, w.keys);
  const GaloisKeys all(w.keys);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, runs{0};
  std::thread other([&] {
    const auto elements = all.elements();
    while (!stop)
      for (const u64 e : elements) {
        w.keys.erase(e);
        (void)w.keys.bytes();
        (void)w.keys.size();
        w.keys.insert({e, all.at(e)});
      }
  });
  for (int i = 0; i < 60; ++i) {
    try {
      const auto r = w.hlt.run(w.c, w.keys, 2);
      ++runs;
      if (!equal(r.parts[0], before.parts[0]) || !equal(r.parts[1], before.parts[1])) ++wrong;
    } catch (const MissingKeyError&) {
    }
  }
  stop = true;
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(w.keys.size(), all.size());
}

TEST(Foreign, AKeyLivesAsLongAsItsHolder) {
  World w({"", 10, 45, 2, 7});
  const u64 element = w.ctx->rotation_element(1);
  auto held = w.keys.at(element);
  const std::weak_ptr<const SwitchingKey> watched = held;
  GaloisKeys copy(w.keys);
  copy.erase(element);
  w.keys.erase(element);
  EXPECT_FALSE(w.keys.contains(element));
  EXPECT_EQ(held->b.size(), w.ctx->gadget().digits(kLevel + 1)) << "still whole";
  held.reset();
  EXPECT_TRUE(watched.expired()) << "and nobody else holds it";
}

TEST(Foreign, NothingIsKeptOfAnEncodingThatWasBrokenOff) {
  World w({"", 10, 45, 2, 7});
  const auto stop = [](double) { throw Error("enough"); };
  const std::vector<double> matrix(16, 0.5);
  EXPECT_THROW(w.matvec.encode(matrix, {}, {kScale, kScale, 1}, 1, stop), Error);
  EXPECT_EQ(outcome([&] { (void)w.matvec.run({&w.c, 1}, w.keys); }), "shape");
  EXPECT_THROW(w.hlt.encode({kScale, kScale, 1}, false, 1, stop), Error);
  EXPECT_EQ(outcome([&] { (void)w.hlt.run(w.c, w.keys); }), "shape");
  EXPECT_THROW(w.pairs.encode({kScale, kScale, kScale, 1, 1, 0x1p300}), Error);
  const std::vector<const Ciphertext*> one{&w.c};
  EXPECT_EQ(outcome([&] { (void)w.pairs.run(one, one, {w.keys, w.relin}); }), "shape");
}

}  // namespace
}  // namespace ringforge::test

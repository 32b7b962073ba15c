// Operators of language models that are plain combinations of others: rotary positions, caches of
// keys and values, convolutions along the tokens. Opsets 23 to 27.
#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

Result<Term> slice(const Term& x, int64_t begin, int64_t end, int64_t axis, Emitter& emitter,
                   int64_t step = 1) {
  return emitter.emit_one(
      "Slice", {x, Term::ints({begin}), Term::ints({end}), Term::ints({axis}), Term::ints({step})});
}

// The cosines or sines of every token, [batch or 1, tokens, 1, size]. Without positions they are
// those of the tokens in order: [batch, tokens, size].
Result<Term> angles_of(const Term& cache, const Term& positions, int64_t size, Emitter& emitter) {
  Term angles = cache;
  if (positions.given()) {
    SHOAL_ASSIGN(angles, emitter.emit_one("Gather", {cache, positions}, {{"axis", int64_t{0}}}));
  }
  if (angles.rank() != 3 || angles.type.shape[2] != size) {
    return invalid("the cosines and sines do not fit the part that is rotated");
  }
  return emitter.emit_one("Unsqueeze", {angles, Term::ints({2})});
}

// (a, b) -> (a cos - b sin, a sin + b cos)
Result<std::pair<Term, Term>> rotate(const Term& a, const Term& b, const Term& cos, const Term& sin,
                                     Emitter& emitter) {
  SHOAL_ASSIGN(const Term a_cos, emitter.emit_one("Mul", {a, cos}));
  SHOAL_ASSIGN(const Term b_sin, emitter.emit_one("Mul", {b, sin}));
  SHOAL_ASSIGN(const Term a_sin, emitter.emit_one("Mul", {a, sin}));
  SHOAL_ASSIGN(const Term b_cos, emitter.emit_one("Mul", {b, cos}));
  SHOAL_ASSIGN(const Term real, emitter.emit_one("Sub", {a_cos, b_sin}));
  SHOAL_ASSIGN(const Term imaginary, emitter.emit_one("Add", {a_sin, b_cos}));
  return std::pair{real, imaginary};
}

// Rotates the first `size` elements of every head, x: [batch, tokens, heads, depth]. The two halves
// are pairs, or neighbours are.
Result<Term> rotate_heads(const Term& x, const Draft& draft, int64_t size, bool neighbours,
                          Emitter& emitter) {
  SHOAL_ASSIGN(const Term cos, angles_of(draft.input(1), draft.input(3), size / 2, emitter));
  SHOAL_ASSIGN(const Term sin, angles_of(draft.input(2), draft.input(3), size / 2, emitter));
  const int64_t depth = x.type.shape[3];
  SHOAL_ASSIGN(const Term a,
               slice(x, 0, neighbours ? size : size / 2, 3, emitter, neighbours ? 2 : 1));
  SHOAL_ASSIGN(const Term b,
               slice(x, neighbours ? 1 : size / 2, size, 3, emitter, neighbours ? 2 : 1));
  SHOAL_ASSIGN(auto pair, rotate(a, b, cos, sin, emitter));
  auto& [real, imaginary] = pair;
  if (neighbours) {
    SHOAL_ASSIGN(real, emitter.emit_one("Unsqueeze", {real, Term::ints({4})}));
    SHOAL_ASSIGN(imaginary, emitter.emit_one("Unsqueeze", {imaginary, Term::ints({4})}));
  }
  SHOAL_ASSIGN(Term y, emitter.emit_one("Concat", {real, imaginary}, {{"axis", int64_t{-1}}}));
  if (neighbours) {
    Shape shape = x.type.shape;
    shape[3] = size;
    SHOAL_ASSIGN(y, emitter.emit_one("Reshape", {y, Term::ints_of(shape)}));
  }
  if (size == depth) return y;
  SHOAL_ASSIGN(const Term rest, slice(x, size, depth, 3, emitter));
  return emitter.emit_one("Concat", {y, rest}, {{"axis", int64_t{3}}});
}

// x: [batch, heads, tokens, depth] or [batch, tokens, heads * depth]
Terms rotary_embedding(Draft draft, int64_t, Emitter& emitter) {
  const Term x = draft.input(0);
  const int64_t heads = draft.take<int64_t>("num_heads").value_or(0);
  const bool neighbours = draft.take<int64_t>("interleaved").value_or(0) != 0;
  const Attributes swap = {{"perm", Ints{0, 2, 1, 3}}};
  Term y;
  if (x.rank() == 4) {
    SHOAL_ASSIGN(y, emitter.emit_one("Transpose", {x}, swap));
  } else if (x.rank() == 3 && heads > 0 && x.type.shape[2] % heads == 0) {
    const Shape& from = x.type.shape;
    const Shape to{from[0], from[1], heads, from[2] / heads};
    SHOAL_ASSIGN(y, emitter.emit_one("Reshape", {x, Term::ints_of(to)}));
  } else {
    return invalid("needs an input of rank 4, or of rank 3 and num_heads that divide it");
  }
  const int64_t depth = y.type.shape[3];
  int64_t size = draft.take<int64_t>("rotary_embedding_dim").value_or(0);
  if (size == 0) size = depth;
  if (size < 0 || size > depth || size % 2 != 0) return invalid("rotates an even part of a head");
  SHOAL_ASSIGN(y, rotate_heads(y, draft, size, neighbours, emitter));
  if (x.rank() == 4) return emitter.emit_last(std::move(draft), "Transpose", {y}, swap);
  return emitter.emit_last(std::move(draft), "Reshape", {y, Term::ints_of(x.type.shape)});
}

// The places of the update along `axis` of the cache: [batch, 1, ..., tokens, ..., 1].
Result<Term> write_places(const Draft& draft, size_t axis, bool circular, Emitter& emitter) {
  const Shape &cache = draft.input(0).type.shape, &update = draft.input(1).type.shape;
  const auto scalar = [](int64_t value) { return Term::of(Tensor::of<int64_t>({}, {value})); };
  SHOAL_ASSIGN(Term places,
               emitter.emit_one("Range", {scalar(0), scalar(update[axis]), scalar(1)}));
  Shape line = Shape::filled(update.rank(), 1), column = line;
  line[axis] = update[axis];
  column[0] = update[0];
  SHOAL_ASSIGN(places, emitter.emit_one("Reshape", {places, Term::ints_of(line)}));
  if (draft.has(2)) {
    SHOAL_ASSIGN(const Term first,
                 emitter.emit_one("Reshape", {draft.input(2), Term::ints_of(column)}));
    SHOAL_ASSIGN(places, emitter.emit_one("Add", {places, first}));
  }
  if (!circular) return places;
  return emitter.emit_one("Mod", {places, scalar(cache[axis])});
}

Terms tensor_scatter(Draft draft, int64_t, Emitter& emitter) {
  const Term cache = draft.input(0), update = draft.input(1);
  const std::string mode = draft.take<std::string>("mode").value_or("linear");
  SHOAL_ASSIGN(const size_t axis,
               ops::require_axis(draft.take<int64_t>("axis").value_or(-2), cache.rank()));
  if (mode != "linear" && mode != "circular") return invalid("mode is linear or circular");
  if (axis == 0 || update.rank() != cache.rank())
    return invalid("the update does not fit the cache");
  SHOAL_ASSIGN(Term places, write_places(draft, axis, mode == "circular", emitter));
  SHOAL_ASSIGN(places, emitter.emit_one("Expand", {places, Term::ints_of(update.type.shape)}));
  return emitter.emit_last(std::move(draft), "ScatterElements", {cache, places, update},
                           {{"axis", static_cast<int64_t>(axis)}});
}

// A depthwise Conv over the tokens of earlier calls, or zeros, and the new ones. Output 1 is the
// tokens that the next call needs.
Terms causal_conv(Draft draft, int64_t, Emitter& emitter) {
  Term x = draft.input(0);
  const Term w = draft.input(1), bias = draft.input(2), past = draft.input(3);
  const std::string activation = draft.take<std::string>("activation").value_or("none");
  if (x.rank() != 3 || w.rank() != 3 || w.type.shape[2] < 1) {
    return invalid("takes an input and weights of rank 3");
  }
  const int64_t kept = w.type.shape[2] - 1;
  if (past.given()) {
    SHOAL_ASSIGN(x, emitter.emit_one("Concat", {past, x}, {{"axis", int64_t{2}}}));
  } else {
    SHOAL_ASSIGN(x, emitter.emit_one("Pad", {x, Term::ints({0, 0, kept, 0, 0, 0})}));
  }
  SHOAL_ASSIGN(Term y, emitter.emit_one("Conv", {x, w, bias}, {{"group", w.type.shape[0]}}));
  if (y.type.shape != draft.input(0).type.shape) return invalid("past_state has another length");
  if (activation == "silu" || activation == "swish") {
    SHOAL_ASSIGN(y, emitter.emit_one("Swish", {y}));
  } else if (activation != "none") {
    return invalid("activation is silu, swish or none");
  }
  const int64_t length = x.type.shape[2];
  SHOAL_ASSIGN(const Term state, slice(x, length - kept, length, 2, emitter));
  return std::vector{y, state};
}

}  // namespace

std::span<const RewriteEntry> token_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"CausalConvWithState", 27, kEver, causal_conv, {"Concat", "Pad", "Conv", "Swish", "Slice"}},
      {"RotaryEmbedding",
       23,
       kEver,
       rotary_embedding,
       {"Gather", "Slice", "Mul", "Add", "Sub", "Concat", "Reshape", "Transpose"}},
      {"TensorScatter", 24, kEver, tensor_scatter, {"Range", "Expand", "ScatterElements", "Mod"}},
  };
  return table;
}

}  // namespace shoal::onnx

// Attention of opsets 23 to 25, which is more than our own operator: heads packed into the last
// axis, fewer heads of keys than of queries, keys of earlier calls, masks by position, soft caps.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };
enum Output : size_t { kY, kPresentKey, kPresentValue, kScores };

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Term integer(int64_t value) { return Term::of(Tensor::of<int64_t>({}, {value})); }

// first, first + 1, ..., n of them. A node and not a constant: it may be as long as a file says.
Result<Term> positions(int64_t first, int64_t n, Emitter& emitter) {
  return emitter.emit_one("Range", {integer(first), integer(first + n), integer(1)});
}

// [batch, tokens, heads * size] -> [batch, heads, tokens, size]. Other ranks are unchanged.
Result<Term> with_heads(const Term& x, int64_t heads, Emitter& emitter) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3) return invalid("takes queries, keys and values of rank 3 or 4");
  const Shape& from = x.type.shape;
  if (heads < 1 || from[2] % heads != 0) return invalid("the heads do not divide the last axis");
  const Term shape = Term::ints({from[0], from[1], heads, from[2] / heads});
  SHOAL_ASSIGN(Term apart, emitter.emit_one("Reshape", {x, shape}));
  return emitter.emit_one("Transpose", {std::move(apart)}, {{"perm", Ints{0, 2, 1, 3}}});
}

// Every head of x, [batch, heads, tokens, size], repeated `times` in a row.
Result<Term> repeat_heads(const Term& x, int64_t times, Emitter& emitter) {
  if (times == 1) return x;
  const Shape& from = x.type.shape;
  const Term apart = Term::ints({from[0], from[1], 1, from[2], from[3]});
  const Term stretched = Term::ints({from[0], from[1], times, from[2], from[3]});
  const Term together = Term::ints({from[0], from[1] * times, from[2], from[3]});
  SHOAL_ASSIGN(Term y, emitter.emit_one("Reshape", {x, apart}));
  SHOAL_ASSIGN(y, emitter.emit_one("Expand", {std::move(y), stretched}));
  return emitter.emit_one("Reshape", {std::move(y), together});
}

// The sum of what is added to the scores, in the type of the queries.
class Bias {
 public:
  Bias(DType dtype, Emitter& emitter) : dtype_(dtype), emitter_(emitter) {}

  const Term& sum() const { return sum_; }

  Status add(const Term& term) {
    if (!sum_.given()) {
      sum_ = term;
      return {};
    }
    SHOAL_ASSIGN(sum_, emitter_.emit_one("Add", {sum_, term}));
    return {};
  }

  // 0 where `allowed`, else -infinity.
  Status add_where(const Term& allowed) {
    SHOAL_ASSIGN(const Term zero, Term::scalar(0, dtype_));
    SHOAL_ASSIGN(const Term never, Term::scalar(-kInfinity, dtype_));
    SHOAL_ASSIGN(const Term term, emitter_.emit_one("Where", {allowed, zero, never}));
    return add(term);
  }

 private:
  DType dtype_;
  Emitter& emitter_;
  Term sum_;
};

// A mask that ends early leaves out the keys behind its end.
Result<Term> padded_mask(const Term& mask, int64_t keys, Emitter& emitter) {
  const size_t rank = mask.rank();
  if (rank == 0 || mask.type.shape[rank - 1] >= keys) return mask;
  Ints pads(2 * rank, 0);
  pads.back() = keys - mask.type.shape[rank - 1];
  if (mask.type.dtype == DType::kBool) {
    return emitter.emit_one("Pad", {mask, Term::ints(pads)});
  }
  SHOAL_ASSIGN(const Term never, Term::scalar(-kInfinity, mask.type.dtype));
  return emitter.emit_one("Pad", {mask, Term::ints(pads), never});
}

Status add_mask(Term mask, int64_t keys, DType dtype, Emitter& emitter, Bias& bias) {
  if (mask.type.dtype != DType::kBool && mask.type.dtype != dtype) {
    SHOAL_ASSIGN(mask, emitter.emit_one("Cast", {mask}, {{"to", ops::onnx_number_of(dtype)}}));
  }
  SHOAL_ASSIGN(mask, padded_mask(mask, keys, emitter));
  return mask.type.dtype == DType::kBool ? bias.add_where(mask) : bias.add(mask);
}

// A query at position p sees the keys from p - left to p + right; none: no bound.
struct Window {
  std::optional<int64_t> left, right;
};

Result<Window> take_window(Draft& draft) {
  Window window;
  const int64_t left = draft.take<int64_t>("left_window_size").value_or(-1);
  const int64_t right = draft.take<int64_t>("right_window_size").value_or(-1);
  if (left < -1 || right < -1) return invalid("a window is -1 or more");
  if (left >= 0) window.left = left;
  if (right >= 0) window.right = right;
  if (draft.take<int64_t>("is_causal").value_or(0) != 0) window.right = 0;
  return window;
}

// The keys that a query sees by their positions. `ahead` is the position of query i less that of
// key j, [queries, keys] or [batch, 1, queries, keys].
Status add_window(const Window& window, const Term& ahead, Emitter& emitter, Bias& bias) {
  if (window.right) {
    SHOAL_ASSIGN(const Term allowed,
                 emitter.emit_one("GreaterOrEqual", {ahead, integer(-*window.right)}));
    SHOAL_TRY(bias.add_where(allowed));
  }
  if (window.left) {
    SHOAL_ASSIGN(const Term allowed,
                 emitter.emit_one("LessOrEqual", {ahead, integer(*window.left)}));
    SHOAL_TRY(bias.add_where(allowed));
  }
  return {};
}

// The number of keys that are no padding, one per image: [batch, 1, 1, 1].
Result<Term> valid_keys(const Draft& draft, Emitter& emitter) {
  const Term& given = draft.input(kValidKeys);
  const int64_t batch = draft.input(kQ).type.shape[0];
  if (given.type != TensorType{DType::kI64, Shape{batch}}) {
    return invalid("nonpad_kv_seqlen is i64 and has one element per image");
  }
  return emitter.emit_one("Reshape", {given, Term::ints({batch, 1, 1, 1})});
}

// The terms that the mask, the window and the padding add to the scores; none if none is given.
Result<Term> make_bias(Draft& draft, int64_t queries, int64_t keys, int64_t past,
                       Emitter& emitter) {
  const DType dtype = draft.input(kQ).type.dtype;
  Bias bias(dtype, emitter);
  SHOAL_ASSIGN(const Window window, take_window(draft));
  if (draft.has(kMask)) {
    SHOAL_TRY(add_mask(draft.input(kMask), keys, dtype, emitter, bias));
  }
  if (!window.left && !window.right && !draft.has(kValidKeys)) return bias.sum();
  SHOAL_ASSIGN(const Term key, positions(0, keys, emitter));
  // The queries are the last tokens: those behind the past, or behind the keys that are valid.
  SHOAL_ASSIGN(Term query, positions(draft.has(kValidKeys) ? -queries : past, queries, emitter));
  SHOAL_ASSIGN(query, emitter.emit_one("Reshape", {query, Term::ints({queries, 1})}));
  if (draft.has(kValidKeys)) {
    SHOAL_ASSIGN(const Term valid, valid_keys(draft, emitter));
    SHOAL_ASSIGN(const Term allowed, emitter.emit_one("Less", {key, valid}));
    SHOAL_TRY(bias.add_where(allowed));
    SHOAL_ASSIGN(query, emitter.emit_one("Add", {valid, query}));
  }
  SHOAL_ASSIGN(const Term ahead, emitter.emit_one("Sub", {query, key}));
  SHOAL_TRY(add_window(window, ahead, emitter, bias));
  return bias.sum();
}

// 0 in the rows of y where a query sees no key. Softmax gives NaN there.
Result<Term> without_blind_rows(const Term& y, const Term& bias, Emitter& emitter) {
  if (!bias.given() || bias.rank() == 0) return y;
  const DType dtype = y.type.dtype;
  SHOAL_ASSIGN(const Term top, emitter.emit_one("ReduceMax", {bias},
                                                {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}}));
  SHOAL_ASSIGN(const Term never, Term::scalar(-kInfinity, dtype));
  SHOAL_ASSIGN(const Term zero, Term::scalar(0, dtype));
  SHOAL_ASSIGN(const Term blind, emitter.emit_one("Equal", {top, never}));
  if (blind.constant.defined() &&
      std::ranges::none_of(blind.constant.data<bool>(), std::identity())) {
    return y;
  }
  return emitter.emit_one("Where", {blind, zero, y});
}

struct Scoring {
  float scale, softcap;
  int64_t mode;  // of the output kScores: 0 as they are, 1 capped, 2 with bias, 3 probabilities
};

Result<Term> with_past(const Term& past, const Term& now, Emitter& emitter) {
  if (!past.given()) return now;
  return emitter.emit_one("Concat", {past, now}, {{"axis", int64_t{2}}});
}

// Queries, and all keys and values of earlier calls and this one: [batch, heads, tokens, size].
struct Operands {
  Term q, k, v;
  int64_t past = 0;  // keys of earlier calls

  int64_t queries() const { return q.type.shape[2]; }
  int64_t keys() const { return k.type.shape[2]; }
};

Result<Operands> take_operands(Draft& draft, Emitter& emitter) {
  if (!draft.has(kQ) || !draft.has(kK) || !draft.has(kV)) {
    return invalid("needs queries, keys and values");
  }
  const int64_t q_heads = draft.take<int64_t>("q_num_heads").value_or(0);
  const int64_t kv_heads = draft.take<int64_t>("kv_num_heads").value_or(0);
  Operands all;
  SHOAL_ASSIGN(all.q, with_heads(draft.input(kQ), q_heads, emitter));
  SHOAL_ASSIGN(all.k, with_heads(draft.input(kK), kv_heads, emitter));
  SHOAL_ASSIGN(all.v, with_heads(draft.input(kV), kv_heads, emitter));
  SHOAL_ASSIGN(all.k, with_past(draft.input(kPastKey), all.k, emitter));
  SHOAL_ASSIGN(all.v, with_past(draft.input(kPastValue), all.v, emitter));
  if (draft.has(kPastKey)) all.past = draft.input(kPastKey).type.shape[2];
  const int64_t heads = all.k.type.shape[1];
  if (heads == 0 || all.q.type.shape[1] % heads != 0 || all.q.type.shape[3] == 0) {
    return invalid("the heads of the keys do not divide those of the queries");
  }
  return all;
}

// One key and one value for every head of the queries, in their type.
Status match_heads(Operands& all, Emitter& emitter) {
  const DType dtype = all.q.type.dtype;
  if (all.v.type.dtype != dtype) {
    SHOAL_ASSIGN(all.v, emitter.emit_one("Cast", {all.v}, {{"to", ops::onnx_number_of(dtype)}}));
  }
  const int64_t times = all.q.type.shape[1] / all.k.type.shape[1];
  SHOAL_ASSIGN(all.k, repeat_heads(all.k, times, emitter));
  SHOAL_ASSIGN(all.v, repeat_heads(all.v, times, emitter));
  return {};
}

// Node by node, for what our own operator cannot say. Returns y and the scores.
Result<std::pair<Term, Term>> attend(const Operands& all, const Term& bias, const Scoring& scoring,
                                     Emitter& emitter) {
  const DType dtype = all.q.type.dtype;
  SHOAL_ASSIGN(const Term scale, Term::scalar(scoring.scale, dtype));
  SHOAL_ASSIGN(Term x, emitter.emit_one("Transpose", {all.k}, {{"perm", Ints{0, 1, 3, 2}}}));
  SHOAL_ASSIGN(x, emitter.emit_one("MatMul", {all.q, x}));
  SHOAL_ASSIGN(x, emitter.emit_one("Mul", {x, scale}));
  Term scores = x;
  if (scoring.softcap != 0) {
    SHOAL_ASSIGN(const Term cap, Term::scalar(scoring.softcap, dtype));
    SHOAL_ASSIGN(x, emitter.emit_one("Div", {x, cap}));
    SHOAL_ASSIGN(x, emitter.emit_one("Tanh", {x}));
    SHOAL_ASSIGN(x, emitter.emit_one("Mul", {x, cap}));
  }
  if (scoring.mode == 1) scores = x;
  if (bias.given()) {
    SHOAL_ASSIGN(x, emitter.emit_one("Add", {x, bias}));
  }
  if (scoring.mode == 2) scores = x;
  SHOAL_ASSIGN(x, emitter.emit_one("Softmax", {x}, {{"axis", int64_t{-1}}}));
  SHOAL_ASSIGN(x, without_blind_rows(x, bias, emitter));
  if (scoring.mode == 3) scores = x;
  SHOAL_ASSIGN(x, emitter.emit_one("MatMul", {x, all.v}));
  return std::pair{x, scores};
}

Scoring take_scoring(Draft& draft, int64_t depth) {
  return {draft.take<float>("scale").value_or(1 / std::sqrt(static_cast<float>(depth))),
          draft.take<float>("softcap").value_or(0),
          draft.take<int64_t>("qk_matmul_output_mode").value_or(0)};
}

// [batch, heads, tokens, size] -> [batch, tokens, heads * size]
Result<Term> packed(Draft draft, const Term& y, Emitter& emitter) {
  const Shape from = y.type.shape;
  const Term shape = Term::ints({from[0], from[2], from[1] * from[3]});
  SHOAL_ASSIGN(const Term apart, emitter.emit_one("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}));
  draft.outputs.resize(1);
  SHOAL_ASSIGN(const std::vector<Term> outputs,
               emitter.emit_last(std::move(draft), "Reshape", {apart, shape}));
  return outputs[0];
}

// `softmax_precision` is not read: Softmax computes 16-bit floats in 32 bits.
Terms attention_23(Draft draft, int64_t, Emitter& emitter) {
  const bool is_packed = draft.input(kQ).rank() == 3;
  SHOAL_ASSIGN(Operands all, take_operands(draft, emitter));
  std::vector<Term> outputs = {Term(), all.k, all.v, Term()};
  SHOAL_ASSIGN(const Term bias, make_bias(draft, all.queries(), all.keys(), all.past, emitter));
  SHOAL_TRY(match_heads(all, emitter));
  const Scoring scoring = take_scoring(draft, all.q.type.shape[3]);
  Term& y = outputs[kY];
  if (scoring.softcap == 0 && draft.outputs.size() <= kScores) {
    SHOAL_ASSIGN(
        y, emitter.emit_one("Attention", {all.q, all.k, all.v, bias}, {{"scale", scoring.scale}}));
    SHOAL_ASSIGN(y, without_blind_rows(y, bias, emitter));
  } else {
    SHOAL_ASSIGN(std::tie(y, outputs[kScores]), attend(all, bias, scoring, emitter));
  }
  outputs.resize(std::min(draft.outputs.size(), outputs.size()));
  if (is_packed) {
    SHOAL_ASSIGN(outputs[kY], packed(std::move(draft), outputs[kY], emitter));
  }
  return outputs;
}

}  // namespace

std::span<const RewriteEntry> attention_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"Attention", 23, kEver, attention_23, {"Attention", "MatMul", "Softmax", "Where"}},
  };
  return table;
}

}  // namespace shoal::onnx

// Transformers (Vaswani et al. 2017) with the norm behind each part. They are written in small
// operators as PyTorch exports them, so that the passes that recognise attention, LayerNorm and
// GELU have work to do.
#include <cmath>
#include <numbers>

#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

constexpr int64_t kHeads = 8;
constexpr int64_t kHeadWidth = 32;
constexpr int64_t kHidden = 1024;  // of the feed-forward part

class Transformer {
 public:
  explicit Transformer(const Options& options);

  ValueId input(std::string name, int64_t published) {
    return b_.input(std::move(name), {b_.size(published), width_});
  }
  ValueId encoder_layer(const std::string& name, ValueId x);
  // `mask` is true where a position may look; `memory` is the encoder's output.
  ValueId decoder_layer(const std::string& name, ValueId x, ValueId memory, ValueId mask);
  ValueId causal_mask(int64_t published);  // for as many tokens

  Result<Graph> finish(ValueId output) { return b_.finish(output); }

 private:
  ValueId scalar(const std::string& name, float value) {
    return b_.constant(name, Tensor::of<float>({}, {value}));
  }
  ValueId binary(const Operator& op, ValueId left, ValueId right, std::string name) {
    return b_.add(op, {left, right}, {}, std::move(name));
  }
  ValueId mean(ValueId x, std::string name) {
    return b_.add(ops::reduce_mean, {x}, {{"axes", std::vector<int64_t>{-1}}}, std::move(name));
  }
  // [n, tokens, width] -> [n, heads, tokens, head width], then permuted.
  ValueId heads(const std::string& name, ValueId x, std::vector<int64_t> permutation);

  ValueId attention(const std::string& name, ValueId from, ValueId to, ValueId mask = kNoValue);
  ValueId feed_forward(const std::string& name, ValueId x);
  ValueId gelu(const std::string& name, ValueId x);
  ValueId add_and_norm(const std::string& name, ValueId x, ValueId part);

  Builder b_;
  int64_t head_width_, width_;
  ValueId half_, one_, two_, root_of_two_, epsilon_, root_of_head_width_, far_below_;
  ValueId split_shape_, merged_shape_;
};

Transformer::Transformer(const Options& options)
    : b_(options),
      head_width_(b_.wide(kHeadWidth)),
      width_(kHeads * head_width_),
      half_(scalar("half", 0.5F)),
      one_(scalar("one", 1)),
      two_(scalar("two", 2)),
      root_of_two_(scalar("sqrt_2", std::numbers::sqrt2_v<float>)),
      epsilon_(scalar("epsilon", 1e-5F)),
      root_of_head_width_(scalar("sqrt_head_width", std::sqrt(static_cast<float>(head_width_)))),
      far_below_(scalar("far_below", -1e9F)),
      // A 0 keeps the size of the input, so that any batch and any number of tokens will do.
      split_shape_(
          b_.constant("split_shape", Tensor::of<int64_t>({4}, {0, 0, kHeads, head_width_}))),
      merged_shape_(b_.constant("merged_shape", Tensor::of<int64_t>({3}, {0, 0, width_}))) {}

ValueId Transformer::heads(const std::string& name, ValueId x, std::vector<int64_t> permutation) {
  x = binary(ops::reshape, b_.linear(name, x, width_, After::kLinear), split_shape_,
             name + ".split");
  return b_.add(ops::transpose, {x}, {{"perm", std::move(permutation)}}, name + ".heads");
}

// softmax(Q K^T / sqrt(head width)) V for each head, with Q from `from`, K and V from `to`.
ValueId Transformer::attention(const std::string& name, ValueId from, ValueId to, ValueId mask) {
  const ValueId query = heads(name + ".query", from, {0, 2, 1, 3});
  const ValueId key = heads(name + ".key", to, {0, 2, 3, 1});
  const ValueId value = heads(name + ".value", to, {0, 2, 1, 3});
  ValueId scores = binary(ops::mat_mul, query, key, name + ".scores");  // [n, heads, from, to]
  scores = binary(ops::div, scores, root_of_head_width_, name + ".scaled");
  if (mask != kNoValue) {
    scores = b_.add(ops::where, {mask, scores, far_below_}, {}, name + ".masked");
  }
  const ValueId weights = b_.softmax(scores, -1);
  ValueId x = binary(ops::mat_mul, weights, value, name + ".mix");
  x = b_.add(ops::transpose, {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}, name + ".tokens");
  x = binary(ops::reshape, x, merged_shape_, name + ".merged");
  return b_.linear(name + ".output", x, width_, After::kLinear);
}

// x (1 + erf(x / sqrt 2)) / 2
ValueId Transformer::gelu(const std::string& name, ValueId x) {
  ValueId gate = binary(ops::div, x, root_of_two_, name + ".div");
  gate = b_.add(ops::erf, {gate}, {}, name + ".erf");
  gate = binary(ops::add, gate, one_, name + ".add");
  return binary(ops::mul, binary(ops::mul, x, gate, name + ".mul"), half_, name);
}

ValueId Transformer::feed_forward(const std::string& name, ValueId x) {
  x = gelu(name + ".gelu", b_.linear(name + ".linear1", x, b_.wide(kHidden), After::kLinear));
  return b_.linear(name + ".linear2", x, width_, After::kRelu);
}

// LayerNorm(x + part) over the last axis: (x - mean) / sqrt(variance + epsilon) * weight + bias.
ValueId Transformer::add_and_norm(const std::string& name, ValueId x, ValueId part) {
  x = binary(ops::add, x, part, name + ".add");
  const ValueId centred = binary(ops::sub, x, mean(x, name + ".mean"), name + ".centred");
  const ValueId squares = binary(ops::pow, centred, two_, name + ".squares");
  const ValueId variance = mean(squares, name + ".variance");
  const ValueId safe = binary(ops::add, variance, epsilon_, name + ".safe");
  const ValueId deviation = b_.add(ops::sqrt, {safe}, {}, name + ".deviation");
  const ValueId normal = binary(ops::div, centred, deviation, name + ".normal");
  const ValueId weight = b_.uniform(name + ".weight", {width_}, 0.75F, 1.25F);
  const ValueId bias = b_.uniform(name + ".bias", {width_}, -0.25F, 0.25F);
  return binary(ops::add, binary(ops::mul, normal, weight, name + ".scaled"), bias, name);
}

ValueId Transformer::encoder_layer(const std::string& name, ValueId x) {
  x = add_and_norm(name + ".norm1", x, attention(name + ".attention", x, x));
  return add_and_norm(name + ".norm2", x, feed_forward(name, x));
}

ValueId Transformer::decoder_layer(const std::string& name, ValueId x, ValueId memory,
                                   ValueId mask) {
  x = add_and_norm(name + ".norm1", x, attention(name + ".attention", x, x, mask));
  x = add_and_norm(name + ".norm2", x, attention(name + ".cross_attention", x, memory));
  return add_and_norm(name + ".norm3", x, feed_forward(name, x));
}

// Token `from` may look at itself and at the tokens before it.
ValueId Transformer::causal_mask(int64_t published) {
  const int64_t tokens = b_.size(published);
  Tensor mask({DType::kBool, {tokens, tokens}});
  for (int64_t from = 0; from < tokens; ++from) {
    for (int64_t to = 0; to <= from; ++to) {
      mask.data<bool>()[static_cast<size_t>(from * tokens + to)] = true;
    }
  }
  return b_.constant("causal_mask", std::move(mask));
}

std::string layer_name(const char* stack, int layer) {
  return std::string(stack) + "." + std::to_string(layer);
}

}  // namespace

Result<Graph> encoder(const Options& options) {
  Transformer t(options);
  ValueId x = t.input("input", 128);
  for (int i = 0; i < 4; ++i) x = t.encoder_layer(layer_name("encoder", i), x);
  return t.finish(x);
}

Result<Graph> seq2seq(const Options& options) {
  Transformer t(options);
  ValueId memory = t.input("source", 64);
  ValueId x = t.input("target", 64);
  const ValueId mask = t.causal_mask(64);
  for (int i = 0; i < 2; ++i) memory = t.encoder_layer(layer_name("encoder", i), memory);
  for (int i = 0; i < 2; ++i) x = t.decoder_layer(layer_name("decoder", i), x, memory, mask);
  return t.finish(x);
}

}  // namespace shoal::zoo

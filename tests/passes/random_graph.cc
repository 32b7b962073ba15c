#include "random_graph.h"

#include <algorithm>
#include <numbers>
#include <random>

#include "shoal/model/ops/ops.h"

namespace shoal::passes {
namespace {

constexpr int kLength = 25;
constexpr int64_t kMaxElements = 2000;

class Author {
 public:
  explicit Author(uint32_t seed) : rng_(seed) {
    values_.push_back(graph_.add_input("x", {DType::kF32, {draw(1, 2), draw(1, 4), 4, 4}}));
    values_.push_back(graph_.add_input("z", {DType::kF32, {draw(1, 3), draw(1, 6)}}));
  }

  Graph write() {
    for (int i = 0; i < kLength; ++i) step();
    // Some values in the middle are outputs, which passes must leave alone.
    for (int i = 0; i < 2; ++i) graph_.mark_output(pick());
    graph_.mark_output(values_.back());
    return std::move(graph_);
  }

 private:
  using Step = void (Author::*)();

  void step() {
    static constexpr Step kSteps[] = {
        &Author::activation, &Author::activation, &Author::conv,       &Author::conv,
        &Author::matrix,     &Author::matrix,     &Author::arithmetic, &Author::arithmetic,
        &Author::batch_norm, &Author::transpose,  &Author::transpose,  &Author::view,
        &Author::residual,   &Author::residual,   &Author::pad,        &Author::pool,
        &Author::nothing,    &Author::gelu,       &Author::hard_swish, &Author::layer_norm,
        &Author::attention,  &Author::swish,      &Author::again,      &Author::of_constants};
    (this->*kSteps[static_cast<size_t>(draw(0, std::ssize(kSteps) - 1))])();
  }

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }
  bool toss() { return draw(0, 1) != 0; }

  // Mostly the last value, so that chains grow.
  ValueId pick() {
    return toss() ? values_.back() : values_[static_cast<size_t>(draw(0, std::ssize(values_) - 1))];
  }
  const Shape& shape(ValueId id) const { return graph_[id].type.shape; }

  ValueId weights(const Shape& of_shape, float low = -0.5f, float high = 0.5f) {
    Tensor tensor({DType::kF32, of_shape});
    std::uniform_real_distribution<float> uniform(low, high);
    for (float& x : tensor.data<float>()) x = uniform(rng_);
    return graph_.add_constant("c", std::move(tensor));
  }
  ValueId number(double value) {
    return graph_.add_constant("s", Tensor::of<float>({}, {static_cast<float>(value)}));
  }
  ValueId ints(const std::vector<int64_t>& list) {
    return graph_.add_constant("i", Tensor::of<int64_t>({std::ssize(list)}, std::span(list)));
  }

  // What an operator refuses is not written.
  ValueId node(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    if (std::ranges::count(inputs, kNoValue) > 0) return kNoValue;
    auto id = graph_.add(op, std::move(inputs), std::move(attributes));
    return id.ok() ? *id : kNoValue;
  }
  void keep(ValueId id) {
    if (id != kNoValue && shape(id).count() <= kMaxElements) values_.push_back(id);
  }

  void activation() {
    static constexpr const Operator* kOps[] = {&ops::relu,       &ops::sigmoid,      &ops::tanh,
                                               &ops::leaky_relu, &ops::hard_sigmoid, &ops::softmax};
    const int64_t which = draw(0, std::ssize(kOps));
    if (which == std::ssize(kOps)) return keep(node(ops::clip, {pick(), number(0), number(6)}));
    keep(node(*kOps[which], {pick()}));
  }

  void conv() {
    const ValueId x = pick();
    if (shape(x).rank() != 4) return;
    const int64_t kernel = toss() ? 1 : 3, out = draw(1, 4);
    std::vector<ValueId> inputs{x, weights({out, shape(x)[1], kernel, kernel})};
    if (toss()) inputs.push_back(weights({out}));
    keep(node(ops::conv, inputs, {{"pads", std::vector<int64_t>(4, kernel / 2)}}));
  }

  void matrix() {
    const ValueId x = pick();
    const int64_t k = shape(x)[shape(x).rank() - 1], n = draw(1, 6);
    if (shape(x).rank() == 2 && toss()) {
      keep(node(ops::gemm, {x, weights({n, k}), weights({n})}, {{"transB", int64_t{1}}}));
    } else {
      keep(node(ops::mat_mul, {x, weights({k, n})}));
    }
  }

  void arithmetic() {
    static constexpr const Operator* kOps[] = {&ops::add, &ops::mul, &ops::sub, &ops::div};
    const ValueId x = pick();
    Shape to = Shape::filled(shape(x).rank(), 1);
    if (toss()) to[toss() && to.rank() > 1 ? 1 : to.rank() - 1] = 0;
    for (size_t d = 0; d < to.rank(); ++d) to[d] = to[d] == 0 ? shape(x)[d] : 1;
    const ValueId c = weights(to, 0.5f, 1.5f);
    const Operator& op = *kOps[draw(0, 3)];
    if (toss()) return keep(node(op, {x, c}));
    keep(node(op, {c, &op == &ops::div ? away_from_zero(x) : x}));
  }

  // x^2 + 0.5. A quotient by a sum that nearly cancels consists of rounding errors.
  ValueId away_from_zero(ValueId x) {
    return node(ops::add, {node(ops::mul, {x, x}), number(0.5)});
  }

  void batch_norm() {
    const ValueId x = pick();
    if (shape(x).rank() < 2) return;
    const Shape c{shape(x)[1]};
    keep(node(ops::batch_normalization,
              {x, weights(c), weights(c), weights(c), weights(c, 0.5f, 1.5f)}));
  }

  void transpose() {
    const ValueId x = pick();
    std::vector<int64_t> perm;
    for (size_t d = 0; d < shape(x).rank(); ++d) perm.push_back(static_cast<int64_t>(d));
    std::ranges::shuffle(perm, rng_);
    keep(node(ops::transpose, {x}, {{"perm", perm}}));
  }

  void view() {
    const ValueId x = pick();
    if (toss()) return keep(node(ops::flatten, {x}, {{"axis", draw(0, 2)}}));
    if (toss()) return keep(node(ops::unsqueeze, {x, ints({0})}));
    const int64_t count = shape(x).count();
    if (count % 16 != 0) return;
    keep(node(ops::reshape, {x, ints({1, count / 16, 4, 4})}));
  }

  void residual() {
    const ValueId x = pick();
    const auto other = std::ranges::find(values_, shape(x), [&](ValueId id) { return shape(id); });
    keep(node(ops::add, {x, *other}));
  }

  void pad() {
    const ValueId x = pick();
    if (shape(x).rank() != 4) return;
    keep(node(ops::pad_, {x, ints({0, 0, draw(0, 1), draw(0, 2), 0, 0, draw(0, 1), draw(-1, 1)})}));
  }

  void pool() {
    keep(node(toss() ? ops::max_pool : ops::average_pool, {pick()},
              {{"kernel_shape", std::vector<int64_t>{2, 2}}}));
  }

  void nothing() {
    const ValueId x = pick();
    switch (draw(0, 4)) {
      case 0:
        return keep(node(ops::identity, {x}));
      case 1:
        return keep(node(ops::dropout, {x}));
      case 2:
        return keep(node(ops::cast, {x}, {{"to", int64_t{1}}}));
      case 3:
        return keep(node(ops::concat, {x}, {{"axis", int64_t{0}}}));
      default:
        return keep(node(ops::mul, {x, number(1)}));
    }
  }

  void gelu() {
    const ValueId x = pick();
    const ValueId e = node(ops::erf, {node(ops::div, {x, number(std::numbers::sqrt2)})});
    const ValueId gate = node(ops::add, {e, number(1)});
    keep(node(ops::mul, {node(ops::mul, {x, gate}), number(0.5)}));
  }

  void hard_swish() {
    const ValueId x = pick();
    keep(node(ops::mul, {x, node(ops::hard_sigmoid, {x}, {{"alpha", 1.0f / 6}})}));
  }

  void swish() {
    const ValueId x = pick();
    const ValueId steep = toss() ? x : node(ops::mul, {x, number(1.7)});
    keep(node(ops::mul, {node(ops::sigmoid, {steep}), x}));
  }

  void layer_norm() {
    const ValueId x = pick();
    const Attributes last{{"axes", std::vector<int64_t>{-1}}};
    const ValueId d = node(ops::sub, {x, node(ops::reduce_mean, {x}, last)});
    const ValueId variance = node(ops::reduce_mean, {node(ops::mul, {d, d})}, last);
    const ValueId root = node(ops::sqrt, {node(ops::add, {variance, number(0.1)})});
    const ValueId n = node(ops::div, {d, root});
    keep(node(ops::mul, {n, weights({shape(x)[shape(x).rank() - 1]})}));
  }

  void attention() {
    const ValueId x = pick();
    if (shape(x).rank() != 4) return;
    const ValueId turned = node(ops::transpose, {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const ValueId scores = node(ops::mul, {node(ops::mat_mul, {x, turned}), number(0.5)});
    keep(node(ops::mat_mul, {node(ops::softmax, {scores}), x}));
  }

  // An existing node.
  void again() {
    if (graph_.nodes().empty()) return;
    const Node old = graph_.nodes()[static_cast<size_t>(draw(0, std::ssize(graph_.nodes()) - 1))];
    keep(node(*old.op, old.inputs, old.attributes));
  }

  void of_constants() {
    const ValueId x = pick();
    const Shape row{shape(x)[shape(x).rank() - 1]};
    const ValueId c = node(ops::exp, {node(ops::neg, {weights(row)})});
    keep(node(ops::mul, {x, c}));
  }

  std::mt19937 rng_;
  Graph graph_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(uint32_t seed) { return Author(seed).write(); }

}  // namespace shoal::passes

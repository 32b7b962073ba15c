#include "shoal/shrink/compress/refit/refit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/node_by_node.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/analysis/value_probe.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {
namespace {

constexpr size_t kMostFeatures = 2304;     // a matrix of 42 MB
constexpr size_t kSamplesPerFeature = 16;  // fewer fit what is accident
constexpr size_t kRowsAtOnce = 1024;
constexpr double kRidge = 1e-6;    // of the energy of a feature
constexpr double kMostScale = 16;  // by which the outputs of a fit are made to vary more

constexpr uint64_t kPlaceStream = 0x706c6163;  // "plac": a stream that nothing else draws from

// A layer as y = W x at each place of its output: W is [outputs, features].
class Layer {
 public:
  // `number` is that of the node in the graph.
  Layer(const Graph& graph, size_t number, const WeightedProduct& product, bool fits_bias)
      : number_(number),
        weights_(*product.weights),
        output_axis_(product.channel_axis),
        bias_(fits_bias ? product.bias : nullptr),
        is_conv_(graph.nodes()[number].op == &ops::conv),
        outputs_(static_cast<size_t>(weights_.shape()[output_axis_])),
        inputs_(static_cast<size_t>(weights_.count()) / outputs_) {
    const Node& node = graph.nodes()[number];
    const Shape& y = graph[node.outputs[0]].type.shape;
    inner_ = is_conv_ ? static_cast<size_t>(y.count(2, y.rank())) : 1;
    if (is_conv_) {
      window_ = ops::window_of(node, graph[node.inputs[0]].type.shape, weights_.shape());
    }
  }

  size_t number() const { return number_; }
  bool has_bias() const { return bias_ != nullptr; }
  size_t outputs() const { return outputs_; }
  size_t features() const { return inputs_ + (has_bias() ? 1 : 0); }
  size_t places(const Tensor& y) const { return static_cast<size_t>(y.count()) / outputs_; }

  // Appends what the layer gives, or reads, at a place.
  void add_outputs(const Tensor& y, size_t place, std::vector<float>& rows) const {
    const auto from = y.data<float>();
    const size_t first = place / inner_ * outputs_ * inner_ + place % inner_;
    for (size_t o = 0; o < outputs_; ++o) rows.push_back(from[first + o * inner_]);
  }
  void add_features(const Tensor& x, size_t place, std::vector<float>& rows) const {
    const auto from = x.data<float>();
    if (is_conv_) {
      add_window(from, place, rows);
    } else {
      const auto row = from.subspan(place * inputs_, inputs_);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    if (has_bias()) rows.push_back(1);
  }

  Matrix weights() const {
    const Matrix own = output_axis_ == 0 ? Matrix::of(outputs_, weights_.data<float>())
                                         : transposed(Matrix::of(inputs_, weights_.data<float>()));
    if (!has_bias()) return own;
    Matrix all(outputs_, features());
    for (size_t o = 0; o < outputs_; ++o) {
      for (size_t i = 0; i < inputs_; ++i) all(o, i) = own(o, i);
      all(o, inputs_) = static_cast<double>(bias_->data<float>()[o]);
    }
    return all;
  }

  // The constants of the node with these weights, by input.
  std::map<size_t, Tensor> constants(const Matrix& weights) const {
    std::map<size_t, Tensor> all = {{1, Tensor(weights_.type())}};
    const auto to = all[1].data<float>();
    const size_t by_output = output_axis_ == 0 ? inputs_ : 1;
    const size_t by_input = output_axis_ == 0 ? 1 : outputs_;
    for (size_t o = 0; o < outputs_; ++o) {
      for (size_t i = 0; i < inputs_; ++i) {
        to[o * by_output + i * by_input] = static_cast<float>(weights(o, i));
      }
    }
    if (!has_bias()) return all;
    all[2] = Tensor(bias_->type());
    for (size_t o = 0; o < outputs_; ++o) {
      all[2].data<float>()[o] = static_cast<float>(weights(o, inputs_));
    }
    return all;
  }

 private:
  // Features in the order of the weights: channels, then taps. Padding is zero.
  void add_window(std::span<const float> x, size_t place, std::vector<float>& rows) const {
    const auto& [depth, row, column] = window_.axes;
    const int64_t plane = depth.input * row.input * column.input;
    const int64_t channels = weights_.shape()[1];
    const auto p = static_cast<int64_t>(place % inner_);
    const int64_t at_column = p % column.output, at_row = p / column.output % row.output;
    const int64_t at_depth = p / column.output / row.output;
    const int64_t image = static_cast<int64_t>(place / inner_) * channels * plane;
    const auto is_in = [](const ops::WindowAxis& axis, int64_t at) {
      return at >= 0 && at < axis.input;
    };
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < depth.kernel; ++i) {
        const int64_t d = depth.position(at_depth, i);
        for (int64_t j = 0; j < row.kernel; ++j) {
          const int64_t r = row.position(at_row, j);
          for (int64_t k = 0; k < column.kernel; ++k) {
            const int64_t w = column.position(at_column, k);
            const bool reads = is_in(depth, d) && is_in(row, r) && is_in(column, w);
            const int64_t index = image + c * plane + (d * row.input + r) * column.input + w;
            rows.push_back(reads ? x[static_cast<size_t>(index)] : 0);
          }
        }
      }
    }
  }

  size_t number_;
  Tensor weights_;
  size_t output_axis_;
  const Tensor* bias_;  // null: none to fit
  bool is_conv_;
  size_t outputs_, inputs_;
  size_t inner_ = 1;  // places that lie side by side in a channel
  ops::Window window_ = {};
};

// Why a product keeps its weights; nothing: it need not.
std::optional<std::string> reason_to_keep(const Graph& graph, const passes::UseDefs& uses,
                                          const Node& node, const WeightedProduct& product) {
  if (node.op == &ops::conv && node.integer("group", 1) != 1) return "has groups";
  if (uses.only_reader(node.inputs[1]) != &node) return "shares its weights";
  const Shape& shape = product.weights->shape();
  const int64_t outputs = shape[product.channel_axis];
  if (shape.count() == 0 || graph[node.outputs[0]].type.shape.count() == 0) return "is empty";
  if (shape.count() / outputs >= static_cast<int64_t>(kMostFeatures)) return "reads too much";
  return std::nullopt;
}

// The layers to refit: products that read something else than in the whole network.
struct Layers {
  std::vector<Layer> all;
  std::vector<std::string> left;
};

Layers layers_of(const Graph& graph, const Narrowing& narrowing, const Graph& smaller) {
  const passes::UseDefs uses(smaller);
  Layers layers;
  std::vector<bool> differs(smaller.value_count());
  for (size_t n = 0; n < smaller.nodes().size(); ++n) {
    const Node& node = smaller.nodes()[n];
    bool reads_other = std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && differs[static_cast<size_t>(id)];
    });
    const std::optional<WeightedProduct> product = product_of(smaller, node);
    if (product) {
      // Removal keeps the order of nodes.
      const ValueId weights = graph.nodes()[n].inputs[1];
      const size_t axis = 1 - product->channel_axis;
      reads_other |= narrowing.shape(weights)[axis] < graph[weights].type.shape[axis];
    }
    for (ValueId id : node.outputs) differs[static_cast<size_t>(id)] = reads_other;
    if (!product || !reads_other) continue;
    if (const auto reason = reason_to_keep(smaller, uses, node, *product)) {
      layers.left.push_back(place_of(smaller, node) + " " + *reason);
      continue;
    }
    const bool fits_bias = product->bias != nullptr && uses.only_reader(node.inputs[2]) == &node;
    layers.all.emplace_back(smaller, n, *product, fits_bias);
  }
  return layers;
}

// The places of a layer to look at in one example: spread over all, at random.
std::vector<size_t> places_of(size_t all, size_t wanted, RandomStream stream) {
  wanted = std::min(all, wanted);
  std::vector<size_t> places;
  for (size_t i = 0; i < wanted; ++i) {
    const size_t begin = all * i / wanted, end = all * (i + 1) / wanted;
    places.push_back(begin + stream.below(end - begin, i));
  }
  return places;
}

class Fit {
 public:
  explicit Fit(const Layer& layer)
      : layer_(layer),
        weights_(layer.weights()),
        moment_(layer.features(), layer.features()),
        wanted_(layer.outputs(), layer.features()),
        sums_(layer.outputs()),
        squares_(layer.outputs()) {}

  void add(const Tensor& x, size_t place, std::span<const float> y) {
    layer_.add_features(x, place, x_);
    y_.insert(y_.end(), y.begin(), y.end());
    if (y_.size() >= kRowsAtOnce * layer_.outputs()) take_rows();
  }

  // Fails if a value is not finite.
  Result<Matrix> solve(bool keeps_variance) {
    take_rows();
    Matrix damped = moment_;
    for (size_t j = 0; j < damped.rows(); ++j) {
      damped(j, j) = damped(j, j) > 0 ? damped(j, j) * (1 + kRidge) : 1;
    }
    SHOAL_ASSIGN(const Matrix best, solved(damped, transposed(wanted_)));
    Matrix fitted = weights_;
    for (size_t o = 0; o < fitted.rows(); ++o) {
      for (size_t j = 0; j < fitted.columns(); ++j) fitted(o, j) += best(j, o);
    }
    if (keeps_variance && layer_.has_bias()) vary_as_given(fitted);
    Matrix change(fitted.columns(), fitted.rows());
    for (size_t o = 0; o < fitted.rows(); ++o) {
      for (size_t j = 0; j < fitted.columns(); ++j) change(j, o) = fitted(o, j) - weights_(o, j);
    }
    const Matrix moved = product(moment_, change);
    after_ = before_;
    for (size_t o = 0; o < fitted.rows(); ++o) {
      for (size_t j = 0; j < fitted.columns(); ++j) {
        after_ += change(j, o) * (moved(j, o) - 2 * wanted_(o, j));
      }
    }
    return fitted;
  }

  double before() const { return before_; }
  double after() const { return after_; }

 private:
  // Scales each output around its mean. The last feature is always 1, so that its row of the moment
  // has the sums of all others.
  void vary_as_given(Matrix& fitted) const {
    const size_t one = layer_.features() - 1;
    const double count = moment_(one, one);
    const Matrix seen = product(moment_, transposed(fitted));
    for (size_t o = 0; o < fitted.rows(); ++o) {
      double squares = 0;
      for (size_t j = 0; j < fitted.columns(); ++j) squares += fitted(o, j) * seen(j, o);
      const double mean = seen(one, o) / count, wanted_mean = sums_[o] / count;
      const double variance = squares / count - mean * mean;
      const double wanted = squares_[o] / count - wanted_mean * wanted_mean;
      if (!(variance > 0) || !(wanted > 0)) continue;
      const double scale = std::min(std::sqrt(wanted / variance), kMostScale);
      for (size_t j = 0; j < one; ++j) fitted(o, j) *= scale;
      fitted(o, one) = wanted_mean - scale * (mean - fitted(o, one));
    }
  }

  void take_rows() {
    if (y_.empty()) return;
    const size_t rows = y_.size() / layer_.outputs();
    const Matrix x = Matrix::of(rows, x_);
    Matrix rest = Matrix::of(rows, y_);
    const Matrix matrix = product(x, transposed(weights_));
    for (size_t i = 0; i < rest.elements().size(); ++i) rest.elements()[i] -= matrix.elements()[i];
    before_ += squared_norm(rest);
    for (size_t i = 0; i < y_.size(); ++i) {
      const auto y = static_cast<double>(y_[i]);
      sums_[i % sums_.size()] += y;
      squares_[i % sums_.size()] += y * y;
    }
    add_gram_of_rows(moment_, x_);
    const Matrix more = product(transposed(rest), x);
    for (size_t i = 0; i < more.elements().size(); ++i) wanted_.elements()[i] += more.elements()[i];
    x_.clear();
    y_.clear();
  }

  const Layer& layer_;
  const Matrix weights_;
  Matrix moment_;                       // X Xᵀ
  Matrix wanted_;                       // R Xᵀ
  std::vector<double> sums_, squares_;  // of Y, by output
  std::vector<float> x_, y_;            // rows that are not in them yet
  double before_ = 0, after_ = 0;
};

class Refitter {
 public:
  Refitter(const Graph& graph, const Narrowing& narrowing, const Graph& smaller,
           const RefitOptions& options)
      : options_(options),
        graph_(graph),
        narrowing_(narrowing),
        smaller_(smaller),
        layers_(layers_of(graph, narrowing, smaller)) {}

  Status look(const CalibrationData& examples, Device& device) {
    std::vector<ValueId> values;
    for (const Layer& layer : layers_.all) {
      values.push_back(graph_.nodes()[layer.number()].outputs[0]);
    }
    given_.resize(values.size());
    SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph_, values, device));
    for (size_t example = 0; example < examples.count; ++example) {
      SHOAL_ASSIGN(inputs_.emplace_back(), examples.at(example));
      SHOAL_TRY(probe.run(inputs_.back()));
      for (size_t i = 0; i < values.size(); ++i) {
        const Layer& layer = layers_.all[i];
        const Tensor y = take(probe.seen(i), narrowing_.left(values[i]));
        Given& given = given_[i].emplace_back();
        given.places =
            places_of(layer.places(y), kSamplesPerFeature * layer.features() / examples.count + 1,
                      RandomStream(i, kPlaceStream).child(example));
        for (size_t place : given.places) layer.add_outputs(y, place, given.rows);
      }
    }
    return {};
  }

  Result<Refitted> run(Device& device) {
    Refitted result{.weights = {}, .layers = {}, .left = std::move(layers_.left)};
    size_t next = 0;
    const auto before = [&](const Node& node, std::span<const Tensor> x) {
      const bool is_next = next < layers_.all.size() && &node_of(layers_.all[next]) == &node;
      return is_next ? fitted(next++, x, result) : std::map<size_t, Tensor>();
    };
    SHOAL_TRY(run_node_by_node(smaller_, device, inputs_, {}, before));
    return result;
  }

 private:
  struct Given {
    std::vector<size_t> places;
    std::vector<float> rows;
  };

  const Node& node_of(const Layer& layer) const { return smaller_.nodes()[layer.number()]; }

  std::map<size_t, Tensor> fitted(size_t number, std::span<const Tensor> x, Refitted& result) {
    const Layer& layer = layers_.all[number];
    const Node& node = node_of(layer);
    Fit fit(layer);
    for (size_t example = 0; example < x.size(); ++example) {
      const Given& given = given_[number][example];
      for (size_t i = 0; i < given.places.size(); ++i) {
        fit.add(x[example], given.places[i],
                std::span(given.rows).subspan(i * layer.outputs(), layer.outputs()));
      }
    }
    // Nothing fades behind the last layer, and its error is that of the answer.
    const bool keeps_variance = options_.keeps_variance && number + 1 < layers_.all.size();
    const Result<Matrix> weights = fit.solve(keeps_variance);
    if (!weights.ok() || !(keeps_variance || fit.after() <= fit.before())) {
      result.left.push_back(place_of(smaller_, node) + " has no better weights");
      return {};
    }
    result.layers.push_back({smaller_[node.outputs[0]].name, fit.before(), fit.after()});
    std::map<size_t, Tensor> constants = layer.constants(*weights);
    for (const auto& [input, tensor] : constants) {
      result.weights[smaller_[node.inputs[input]].name] = tensor;
    }
    return constants;
  }

  const RefitOptions& options_;
  const Graph& graph_;
  const Narrowing& narrowing_;
  const Graph& smaller_;
  Layers layers_;
  std::vector<std::vector<Tensor>> inputs_;  // of each example
  std::vector<std::vector<Given>> given_;    // by layer and example
};

constexpr float kEpsilon = 1e-5F;  // the operator's default

std::vector<ValueId> without_norms(const Graph& graph) {
  const passes::UseDefs uses(graph);
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes()) {
    if (node.op != &ops::conv || passes::constant(graph, node.inputs[1]) == nullptr) continue;
    if (graph[node.outputs[0]].type.dtype != DType::kF32) continue;
    const Node* reader = uses.only_reader(node.outputs[0]);
    if (reader == nullptr || reader->op != &ops::batch_normalization) {
      values.push_back(node.outputs[0]);
    }
  }
  return values;
}

struct Sums {
  double count = 0, sum = 0, squares = 0;
};

void add(const Tensor& y, std::vector<Sums>& channels) {
  const auto inner = static_cast<size_t>(y.shape().count(2, y.shape().rank()));
  const auto elements = y.data<float>();
  for (size_t first = 0; first < elements.size(); first += inner) {
    Sums& channel = channels[first / inner % channels.size()];
    channel.count += static_cast<double>(inner);
    for (const float element : elements.subspan(first, inner)) {
      const auto x = static_cast<double>(element);
      channel.sum += x;
      channel.squares += x * x;
    }
  }
}

ChannelMoments moments_of(const std::vector<Sums>& channels) {
  ChannelMoments moments;
  for (const Sums& channel : channels) {
    const double mean = channel.sum / channel.count;
    moments.mean.push_back(mean);
    moments.variance.push_back(std::max(0.0, channel.squares / channel.count - mean * mean));
  }
  return moments;
}

Status add_norm(passes::Rewriter& rewriter, const Node& conv, const ChannelMoments& moments) {
  SHOAL_TRY(rewriter.copy(conv));
  const ValueId y = rewriter.map(conv.outputs[0]);
  const int64_t channels = rewriter.to()[y].type.shape[1];
  if (static_cast<int64_t>(moments.mean.size()) != channels) {
    return invalid("the moments of " + rewriter.to()[y].name + " have another number of channels");
  }
  const auto constant = [&](const char* role, auto value) {
    Tensor tensor({DType::kF32, {channels}});
    for (size_t c = 0; c < moments.mean.size(); ++c) {
      tensor.data<float>()[c] = static_cast<float>(value(moments.mean[c], moments.variance[c]));
    }
    return rewriter.add_constant(conv, role, std::move(tensor));
  };
  const auto mean_of = [](double mean, double) { return mean; };
  const ValueId scale = constant("norm.scale", [](double, double variance) {
    return std::sqrt(variance + static_cast<double>(kEpsilon));
  });
  const ValueId bias = constant("norm.bias", mean_of);
  const ValueId mean = constant("norm.mean", mean_of);
  const ValueId variance = constant("norm.variance", [](double, double v) { return v; });
  SHOAL_ASSIGN(const ValueId normed,
               rewriter.to().add(ops::batch_normalization, {y, scale, bias, mean, variance},
                                 {{"epsilon", kEpsilon}}));
  rewriter.replace(conv.outputs[0], normed);
  return {};
}

}  // namespace

Result<Refitted> refit(const Graph& graph, const Groups& groups, std::span<const size_t> units,
                       const CalibrationData& examples, Device& device,
                       const RefitOptions& options) {
  SHOAL_ASSIGN(const Graph smaller, remove(graph, groups, units));
  Narrowing narrowing(graph);
  for (size_t unit : units) narrowing.drop(groups.units[unit]);
  Refitter refitter(graph, narrowing, smaller, options);
  SHOAL_TRY(refitter.look(examples, device));
  return refitter.run(device);
}

Result<ConvMoments> conv_moments(const Graph& graph, const CalibrationData& examples,
                                 Device& device) {
  if (examples.count == 0) return invalid("there are no examples to see what channels are like");
  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, without_norms(graph), device));
  const std::vector<ValueId>& values = probe.values();
  std::vector<std::vector<Sums>> sums;
  for (const ValueId id : values) {
    sums.emplace_back(static_cast<size_t>(graph[id].type.shape[1]));
  }
  for (size_t example = 0; example < examples.count; ++example) {
    SHOAL_ASSIGN(const std::vector<Tensor> inputs, examples.at(example));
    SHOAL_TRY(probe.run(inputs));
    for (size_t i = 0; i < values.size(); ++i) add(probe.seen(i), sums[i]);
  }
  ConvMoments moments;
  for (size_t i = 0; i < values.size(); ++i) moments[graph[values[i]].name] = moments_of(sums[i]);
  return moments;
}

Result<Graph> with_norms(const Graph& graph, const ConvMoments& moments) {
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const auto position =
        node.op == &ops::conv ? moments.find(graph[node.outputs[0]].name) : moments.end();
    SHOAL_TRY(position == moments.end() ? rewriter.copy(node)
                                        : add_norm(rewriter, node, position->second));
  }
  return rewriter.finish();
}

}  // namespace shoal::compress

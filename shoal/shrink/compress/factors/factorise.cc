// For each layer that its method takes apart, in this order:
//
//   1. The second moment of its inputs is seen on examples, and weighs its weights' errors.
//   2. The method gives a front of ranks: each costs more work than the one before and loses less.
//   3. Of it, the first is found that keeps the output's error on other examples within the bound,
//      by a search that begins at the ranks that stand out of the weights' noise (low_rank.h).
//      Where a speed is wanted, it is the last that is so fast.
//   4. The device decides: that one and the next two, which may be faster, because time is a
//      staircase in the ranks, are timed in turns with the layer itself.
#include "shoal/shrink/compress/factors/factorise.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/analysis/value_probe.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {
namespace {

constexpr int64_t kMostFeatures = 2048;  // a moment of 32 MB
constexpr size_t kMostJudged = 8;

// Gaussian: no direction is special, so that the error of an output is that of the weights.
Tensor random_input(const TensorType& type) {
  Tensor tensor(type);
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (float& x : tensor.data<float>()) x = normal(rng);
  return tensor;
}

// Candidates that are timed besides the first that is accurate enough.
constexpr size_t kNeighbours = 2;

Status refusal(std::string why) { return Status(Code::kUnsupported, std::move(why)); }

class Choice {
 public:
  Choice(const Graph& graph, const Node& node, const Factors& factors, LayerTrial trial,
         const FactoriseOptions& options)
      : graph_(graph),
        node_(node),
        factors_(factors),
        trial_(std::move(trial)),
        options_(options) {}

  // The report of a layer that is replaced; fails with kUnsupported if it should not be.
  Result<LayerReport> choose() {
    if (factors_.candidates.empty()) return refusal("no ranks save any work");
    return options_.speed_up ? most_accurate(*options_.speed_up) : fastest();
  }

 private:
  Result<size_t> contender(size_t index) {
    const auto position = entered_.find(index);
    if (position != entered_.end()) return position->second;
    SHOAL_ASSIGN(const std::vector<Factor> factors, factors_.at(factors_.candidates[index].ranks));
    SHOAL_ASSIGN(const Graph graph, layer_graph(graph_, node_, factors));
    SHOAL_ASSIGN(const size_t number, trial_.enter(graph));
    return entered_[index] = number;
  }

  Result<double> error(size_t index) {
    SHOAL_ASSIGN(const size_t number, contender(index));
    return trial_.error(number);
  }

  Result<Contest> race(size_t first, size_t last) {
    std::vector<size_t> contenders;
    for (size_t i = first; i < last; ++i) {
      SHOAL_ASSIGN(const size_t number, contender(i));
      contenders.push_back(number);
    }
    return trial_.race(contenders);
  }

  Result<LayerReport> decide(size_t index, const Contest& contest, size_t number) {
    if (!is_faster(contest, number)) return refusal("it is no faster in factors");
    LayerReport report;
    report.place = place_of(graph_, node_);
    report.ranks = factors_.candidates[index].ranks;
    SHOAL_ASSIGN(report.error, error(index));
    report.microseconds_before = contest.least(0);
    report.microseconds_after = contest.least(number);
    return report;
  }

  Result<LayerReport> fastest() {
    const size_t count = factors_.candidates.size();
    const auto is_accurate = [&](size_t index) -> Result<bool> {
      SHOAL_ASSIGN(const double e, error(index));
      return e <= options_.error;
    };
    SHOAL_ASSIGN(const size_t first, first_index(count, factors_.start, is_accurate));
    if (first == count) return refusal("no ranks that save work are accurate enough");
    SHOAL_ASSIGN(const Contest contest, race(first, std::min(first + 1 + kNeighbours, count)));
    const size_t winner = std::max<size_t>(contest.winner(), 1);
    return decide(first + winner - 1, contest, winner);
  }

  Result<LayerReport> most_accurate(double speed_up) {
    const auto is_slow = [&](size_t index) -> Result<bool> {
      SHOAL_ASSIGN(const Contest contest, race(index, index + 1));
      return contest.least(0) < speed_up * contest.least(1);
    };
    SHOAL_ASSIGN(const size_t slow,
                 first_index(factors_.candidates.size(), factors_.start, is_slow));
    // A lucky timing on the way does not count: the one that is chosen is timed once more.
    for (size_t index = slow; index-- > 0;) {
      SHOAL_ASSIGN(const Contest contest, race(index, index + 1));
      if (contest.least(0) >= speed_up * contest.least(1)) return decide(index, contest, 1);
    }
    return refusal("no ranks make it as fast as is wanted");
  }

  const Graph& graph_;
  const Node& node_;
  const Factors& factors_;
  LayerTrial trial_;
  const FactoriseOptions& options_;
  std::map<size_t, size_t> entered_;  // candidates that are contenders
};

class Factoriser {
 public:
  Factoriser(const Graph& graph, const Context& context, const Factorisation& factorisation,
             const FactoriseOptions& options)
      : graph_(graph),
        context_(context),
        factorisation_(factorisation),
        options_(options),
        links_(graph),
        rewriter_(graph) {}

  Result<Factorised> run() {
    std::vector<LayerPlace> layers;
    for (const Node& node : graph_.nodes()) {
      if (accepts(node).ok()) layers.push_back({&node, feature_axis(graph_, node)});
    }
    SHOAL_ASSIGN(std::vector<LayerInputs> inputs, inputs_of(graph_, layers, context_));
    size_t next = 0;
    for (const Node& node : graph_.nodes()) {
      if (next < layers.size() && layers[next].node == &node) {
        SHOAL_TRY(add_layer(node, std::move(inputs[next++])));
      } else {
        if (is_product(node)) leave(node, accepts(node));
        SHOAL_TRY(rewriter_.copy(node));
      }
    }
    SHOAL_ASSIGN(result_.graph, rewriter_.finish());
    SHOAL_TRY(verify(result_.graph));
    return std::move(result_);
  }

 private:
  Status accepts(const Node& node) const {
    return compress::accepts(factorisation_, graph_, links_, node);
  }

  void leave(const Node& node, Status why) {
    result_.layers.push_back({place_of(graph_, node), std::move(why)});
  }

  Status add_layer(const Node& node, LayerInputs inputs) {
    const Result<Factors> factors = take_apart(node, inputs.moment);
    if (!factors.ok()) {
      leave(node, factors.status());
      return rewriter_.copy(node);
    }
    SHOAL_ASSIGN(const Graph alone,
                 layer_graph(graph_, node, std::vector{factor_of(graph_, node)}));
    SHOAL_ASSIGN(LayerTrial trial, LayerTrial::start(context_.device, alone,
                                                     std::move(inputs.judged), options_.stopwatch));
    const auto report = Choice(graph_, node, *factors, std::move(trial), options_).choose();
    if (!report.ok()) {
      if (report.status().code() != Code::kUnsupported) return report.status();
      leave(node, report.status());
      return rewriter_.copy(node);
    }
    result_.layers.push_back(*report);
    SHOAL_ASSIGN(const std::vector<Factor> chosen, factors->at(report->ranks));
    return replace(rewriter_, node, chosen);
  }

  Result<Factors> take_apart(const Node& node, const std::optional<SecondMoment>& moment) const {
    std::optional<Whitening> whitening;
    if (moment) {
      SHOAL_ASSIGN(whitening, moment->whitening());
    }
    return factorisation_.take_apart(graph_, node, std::move(whitening), options_.block);
  }

  const Graph& graph_;
  const Context& context_;
  const Factorisation& factorisation_;
  const FactoriseOptions& options_;
  const passes::UseDefs links_;
  passes::Rewriter rewriter_;
  Factorised result_;
};

Status refusal(const char* why) { return Status(Code::kUnsupported, why); }

}  // namespace

Stopwatch wall_clock() {
  return [](Executable& executable, std::span<const Tensor> inputs) -> Result<double> {
    using Clock = std::chrono::steady_clock;
    std::vector<Tensor> outputs(executable.graph().outputs().size());
    const auto begin = Clock::now();
    SHOAL_TRY(executable.run(inputs, outputs, {}));
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
}

bool is_faster(const Contest& contest, size_t number) {
  constexpr double kClearly = 1.2;
  const double before = contest.least(0), after = contest.least(number);
  return contest.winner() != 0 && before > (contest.is_believed() ? 1 : kClearly) * after;
}

Result<LayerTrial> LayerTrial::start(Device& device, const Graph& layer, std::vector<Tensor> inputs,
                                     Stopwatch stopwatch) {
  SHOAL_CHECK(!inputs.empty());
  LayerTrial trial(device, std::move(inputs), std::move(stopwatch));
  SHOAL_ASSIGN(const size_t itself, trial.enter(layer));
  for (const Tensor& input : trial.inputs_) {
    SHOAL_ASSIGN(Tensor wanted, trial.output(itself, input));
    trial.wanted_.push_back(std::move(wanted));
  }
  return trial;
}

Result<size_t> LayerTrial::enter(const Graph& graph) {
  SHOAL_ASSIGN(std::unique_ptr<Executable> executable, device_->compile(graph));
  contenders_.push_back(std::move(executable));
  return contenders_.size() - 1;
}

Result<Tensor> LayerTrial::output(size_t contender, const Tensor& input) {
  std::vector<Tensor> outputs(1);
  SHOAL_TRY(contenders_[contender]->run(std::span(&input, 1), outputs, {}));
  return std::move(outputs[0]);
}

Result<double> LayerTrial::error(size_t contender) {
  double difference = 0, all = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    SHOAL_ASSIGN(const Tensor tensor, output(contender, inputs_[i]));
    const std::span<const float> got = tensor.data<float>(), want = wanted_[i].data<float>();
    for (size_t k = 0; k < want.size(); ++k) {
      const double y = want[k], d = y - got[k];
      difference += d * d;
      all += y * y;
    }
  }
  if (difference == 0) return 0.0;
  return all > 0 ? difference / all : std::numeric_limits<double>::infinity();
}

Result<Contest> LayerTrial::race(std::span<const size_t> contenders) {
  Contest contest(contenders.size() + 1);
  while (const auto next = contest.next()) {
    Executable& executable = *contenders_[*next == 0 ? 0 : contenders[*next - 1]];
    SHOAL_ASSIGN(const double microseconds, stopwatch_(executable, std::span(&inputs_[0], 1)));
    contest.add(*next, microseconds);
  }
  return contest;
}

Result<std::vector<LayerInputs>> inputs_of(const Graph& graph, std::span<const LayerPlace> layers,
                                           const Context& context) {
  std::vector<LayerInputs> inputs(layers.size());
  std::vector<ValueId> values;
  for (size_t i = 0; i < layers.size(); ++i) {
    values.push_back(layers[i].node->inputs[0]);
    const TensorType& type = graph[values[i]].type;
    const int64_t features = type.shape[layers[i].axis];
    const size_t count = context.examples.count;
    if (count == 0) inputs[i].judged.push_back(random_input(type));
    if (count > 0 && features <= kMostFeatures) {
      inputs[i].moment.emplace(static_cast<size_t>(features));
    }
  }
  if (context.examples.count == 0 || layers.empty()) return inputs;

  SHOAL_ASSIGN(ValueProbe probe, ValueProbe::create(graph, std::move(values), context.device));
  const size_t count = context.examples.count;
  const size_t judged = std::clamp<size_t>(count / 4, 1, kMostJudged);
  for (size_t example = 0; example < count; ++example) {
    if (context.progress) context.progress(example);
    SHOAL_ASSIGN(const std::vector<Tensor> tensors, context.examples.at(example));
    SHOAL_TRY(probe.run(tensors));
    const bool is_judged = example >= count - judged;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (is_judged) inputs[i].judged.push_back(probe.seen(i).clone());
      const bool counts = !is_judged || count == 1;
      if (counts && inputs[i].moment) inputs[i].moment->add(probe.seen(i), layers[i].axis);
    }
  }
  return inputs;
}

Result<Factorised> factorise(const Graph& graph, const Context& context,
                             const Factorisation& factorisation, const FactoriseOptions& options) {
  SHOAL_ASSIGN(const Graph prepared, prepare(graph));
  return Factoriser(prepared, context, factorisation, options).run();
}

Result<Compressed> factorised(const Graph& graph, const Context& context,
                              const Factorisation& factorisation) {
  SHOAL_ASSIGN(Factorised result, factorise(graph, context, factorisation));
  const size_t products = result.layers.size();
  const auto replaced = static_cast<size_t>(std::ranges::count_if(
      result.layers, [](const LayerReport& layer) { return layer.refused.ok(); }));
  if (replaced > 0) return Compressed{std::move(result.graph), products, replaced};
  if (products == 0) return refusal("there is no Conv, Gemm or MatMul");
  const LayerReport& first = result.layers[0];
  return refusal("none of " + std::to_string(products) + " products was replaced; " +
                 std::string(first.refused.at(first.place).message()));
}

bool is_product(const Node& node) {
  return node.op == &ops::conv || node.op == &ops::gemm || node.op == &ops::mat_mul;
}

Status accepts(const Factorisation& factorisation, const Graph& graph, const passes::UseDefs& uses,
               const Node& node) {
  if (!is_product(node)) return refusal("it is no product");
  const std::optional<WeightedProduct> product = product_of(graph, node);
  if (!product) return refusal("it is no plain product with constant f32 weights");
  if (product->weights->count() == 0 || graph[node.outputs[0]].type.shape.count() == 0) {
    return refusal("it has no elements");
  }
  if (uses.only_reader(node.inputs[1]) == nullptr) return refusal("its weights are shared");
  return factorisation.accepts(node, *product);
}

size_t feature_axis(const Graph& graph, const Node& node) {
  return node.op == &ops::conv ? 1 : graph[node.inputs[0]].type.shape.rank() - 1;
}

Factor factor_of(const Graph& graph, const Node& node) {
  return {node.op, *graph[node.inputs[1]].constant, node.attributes};
}

Result<Graph> layer_graph(const Graph& graph, const Node& node, std::span<const Factor> factors) {
  Graph layer;
  ValueId value = layer.add_input("x", graph[node.inputs[0]].type);
  for (const Factor& factor : factors) {
    const ValueId weights = layer.add_constant("w", factor.weights);
    SHOAL_ASSIGN(value, layer.add(*factor.op, {value, weights}, factor.attributes));
  }
  layer.mark_output(value);
  return layer;
}

Status replace(passes::Rewriter& rewriter, const Node& node, const std::vector<Factor>& factors) {
  ValueId value = rewriter.map(node.inputs[0]);
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const ValueId weights = rewriter.add_constant(node, "factor", factors[i].weights);
    SHOAL_ASSIGN(value, rewriter.to().add(*factors[i].op, {value, weights}, factors[i].attributes));
  }
  const Factor& last = factors.back();
  std::vector<ValueId> inputs{value, rewriter.add_constant(node, "factor", last.weights)};
  if (node.inputs.size() > 2) inputs.push_back(rewriter.map(node.inputs[2]));
  if (rewriter.substitute(node, *last.op, std::move(inputs), last.attributes)) return {};
  return Status(Code::kInternal, "a factor was refused").at(place_of(rewriter.from(), node));
}

}  // namespace shoal::compress

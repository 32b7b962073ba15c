// For each layer that its method takes apart, in this order:
//
//   1. The second moment of its inputs is seen on examples, and weighs its weights' errors.
//   2. The method gives a front of ranks: each costs more work than the one before and loses less.
//   3. Of it, the first is found that keeps the output's error on other examples within the bound,
//      by a search that begins at the ranks that stand out of the weights' noise (evbmf.h). Where
//      a speed is wanted, it is the last that is so fast.
//   4. The device decides: that one and the next two, which may be faster, because time is a
//      staircase in the ranks, are timed in turns with the layer itself.
#include "shoal/shrink/compress/factors/factorise.h"

#include <algorithm>
#include <map>

#include "shoal/shrink/compress/factors/factor_chain.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {
namespace {

// Candidates that are timed besides the first that is accurate enough.
constexpr size_t kNeighbours = 2;

Status refusal(std::string why) { return Status(Code::kUnsupported, std::move(why)); }

// The search for the ranks of one layer.
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
  // The contender that candidate `index` is in the trial.
  Result<size_t> contender(size_t index) {
    const auto found = entered_.find(index);
    if (found != entered_.end()) return found->second;
    SHOAL_ASSIGN(const std::vector<Factor> factors, factors_.at(factors_.candidates[index].ranks));
    SHOAL_ASSIGN(const Graph graph, layer_graph(graph_, node_, factors));
    SHOAL_ASSIGN(const size_t number, trial_.enter(graph));
    return entered_[index] = number;
  }

  Result<double> error(size_t index) {
    SHOAL_ASSIGN(const size_t number, contender(index));
    return trial_.error(number);
  }

  // The layer against the candidates [first, last).
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

}  // namespace

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

}  // namespace shoal::compress

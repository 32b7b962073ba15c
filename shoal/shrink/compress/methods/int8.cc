// The method int8. Some examples give ranges and shifts of means, the others evaluate the answers.
#include "shoal/shrink/compress/methods/int8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/analysis/output_noise.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/quantization/rounding_errors.h"

namespace shoal::compress {
namespace {

constexpr size_t kMostJudging = 8;
constexpr size_t kMostShifting = 16;  // all of their values are in memory at once

class Chooser {
 public:
  Chooser(const Graph& graph, const Context& context, Calibration calibration, NoiseMeter meter)
      : graph_(graph),
        context_(context),
        calibration_(std::move(calibration)),
        meter_(std::move(meter)) {}

  Result<Int8Choice> choose(size_t seen) {
    SHOAL_TRY(choose_ranges());
    SHOAL_TRY(choose_products());
    if (context_.int8.correct_bias) SHOAL_TRY(correct_biases(seen));
    Int8Choice choice{.values = rule_, .weights = options_.weights, .noise = noise_};
    for (const auto& [id, range] : ranges_) choice.ranges[graph_[id].name] = range;
    for (ValueId id : options_.real) choice.real.insert(graph_[id].name);
    for (const auto& [id, shift] : options_.shifts) choice.shifts[graph_[id].name] = shift;
    return choice;
  }

 private:
  Result<double> noise_of(const QuantizeOptions& options) const {
    SHOAL_ASSIGN(const Graph graph, quantize(graph_, ranges_, options));
    return meter_.noise(graph);
  }

  Result<bool> try_out(QuantizeOptions options) {
    SHOAL_ASSIGN(const double noise, noise_of(options));
    if (noise >= noise_) return false;
    noise_ = noise;
    options_ = std::move(options);
    return true;
  }

  // Of values first, then of weights, which hardly depend on it.
  Status choose_ranges() {
    if (const auto given = context_.int8.ranges) {
      rule_ = options_.weights = *given;
      ranges_ = calibration_.ranges(rule_);
      SHOAL_ASSIGN(noise_, noise_of(options_));
      return {};
    }
    noise_ = 2;  // more than any
    for (RangeRule rule : kRangeRules) {
      Ranges before = std::exchange(ranges_, calibration_.ranges(rule));
      SHOAL_ASSIGN(const bool better, try_out(options_));
      if (better) {
        rule_ = rule;
      } else {
        ranges_ = std::move(before);
      }
    }
    return try_out({.weights = RangeRule::kMse}).status();
  }

  // Only if the network as a whole is noisier than the rule allows: each product costs a
  // compilation.
  Status choose_products() {
    const FallbackRule& rule = context_.int8.fallback;
    if (noise_ <= rule.most_noise || rule.most_work == 0) return {};
    SHOAL_ASSIGN(const std::vector<ProductNoise> noises,
                 noises_alone(graph_, ranges_, options_.weights, meter_));
    QuantizeOptions options = options_;
    options.real = stay_real(noises, rule);
    return try_out(std::move(options)).status();
  }

  Status correct_biases(size_t seen) {
    std::vector<std::vector<Tensor>> examples;
    const size_t count = std::min(seen, kMostShifting);
    for (size_t i = 0; i < count; ++i) {
      SHOAL_ASSIGN(std::vector<Tensor> inputs, context_.examples.at(i * seen / count));
      examples.push_back(std::move(inputs));
    }
    SHOAL_ASSIGN(const Graph graph, quantize(graph_, ranges_, options_));
    QuantizeOptions options = options_;
    SHOAL_ASSIGN(options.shifts, mean_shifts(graph_, graph, examples, context_.device));
    return try_out(std::move(options)).status();
  }

  const Graph& graph_;
  const Context& context_;
  const Calibration calibration_;
  const NoiseMeter meter_;
  RangeRule rule_ = RangeRule::kMse;
  Ranges ranges_;
  QuantizeOptions options_;
  double noise_ = 0;
};

bool is_product(const Node& node) {
  return node.op == &ops::conv || node.op == &ops::gemm || node.op == &ops::mat_mul;
}

}  // namespace

Result<Int8Choice> choose_int8(const Graph& network, const Context& context) {
  SHOAL_ASSIGN(const Graph prepared, prepare(network));
  // A graph without products would be written unchanged, and look compressed.
  if (products_to_quantize(prepared).empty()) {
    return Status(Code::kUnsupported, "there is no Conv, Gemm or MatMul with constant f32 weights");
  }
  const size_t count = context.examples.count;
  if (count == 0) return invalid("int8 needs examples");
  const size_t judging = std::clamp<size_t>(count / 4, 1, kMostJudging);
  const size_t seen = std::max<size_t>(count - judging, 1);  // a single example does both
  SHOAL_ASSIGN(Calibration calibration, Calibration::start(prepared, context.device));
  SHOAL_TRY(calibration.observe({seen, context.examples.at}, context.progress));
  std::vector<std::vector<Tensor>> held_out;
  for (size_t i = count - judging; i < count; ++i) {
    if (context.progress) context.progress(i);
    SHOAL_ASSIGN(std::vector<Tensor> inputs, context.examples.at(i));
    held_out.push_back(std::move(inputs));
  }
  SHOAL_ASSIGN(NoiseMeter meter, NoiseMeter::start(prepared, context.device, std::move(held_out)));
  return Chooser(prepared, context, std::move(calibration), std::move(meter)).choose(seen);
}

namespace {

Result<Graph> quantized_as(const Graph& network, const Int8Choice& choice, bool learns) {
  SHOAL_ASSIGN(const Graph prepared, prepare(network));
  Ranges ranges;
  QuantizeOptions options{.weights = choice.weights, .learns = learns};
  for (size_t i = 0; i < prepared.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const std::string& name = prepared[id].name;
    if (const auto range = choice.ranges.find(name); range != choice.ranges.end()) {
      ranges[id] = range->second;
    }
    if (const auto shift = choice.shifts.find(name); shift != choice.shifts.end() && !learns) {
      options.shifts[id] = shift->second;
    }
    if (choice.real.contains(name)) options.real.insert(id);
  }
  return quantize(prepared, ranges, options);
}

}  // namespace

Result<Graph> quantized(const Graph& network, const Int8Choice& choice) {
  return quantized_as(network, choice, false);
}

Result<Graph> rounding(const Graph& network, const Int8Choice& choice) {
  return quantized_as(network, choice, true);
}

std::vector<std::string> notes_of(const Int8Choice& choice) {
  std::vector<std::string> notes = {"ranges of values by " + std::string(name_of(choice.values)) +
                                    ", of weights by " + std::string(name_of(choice.weights))};
  notes.emplace_back(choice.shifts.empty() ? "biases not corrected" : "biases corrected");
  char text[64];
  std::snprintf(text, sizeof text, "noise of the answers: %.1f dB",
                10 * std::log10(std::max(choice.noise, 1e-12)));
  notes.emplace_back(text);
  return notes;
}

Result<Compressed> int8(const Graph& graph, const Context& context) {
  SHOAL_ASSIGN(const Int8Choice choice, choose_int8(graph, context));
  Compressed result;
  SHOAL_ASSIGN(result.graph, quantized(graph, choice));
  result.notes = notes_of(choice);
  // A product is compressed if its weights are dequantised; nodes are in topological order, so that
  // the DequantizeLinear has been seen before its reader.
  std::vector<bool> dequantized(result.graph.value_count());
  for (const Node& node : result.graph.nodes()) {
    if (node.op == &ops::dequantize_linear) {
      dequantized[static_cast<size_t>(node.outputs[0])] = true;
    }
    if (!is_product(node)) continue;
    ++result.parts;
    result.compressed += dequantized[static_cast<size_t>(node.inputs[1])] ? 1 : 0;
    if (choice.real.contains(result.graph[node.outputs[0]].name)) {
      result.left.push_back(place_of(result.graph, node));
    }
  }
  return result;
}

}  // namespace shoal::compress

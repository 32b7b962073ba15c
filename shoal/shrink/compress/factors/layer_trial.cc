#include "shoal/shrink/compress/factors/layer_trial.h"

#include <chrono>
#include <limits>

namespace shoal::compress {

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
    SHOAL_ASSIGN(const Tensor given, output(contender, inputs_[i]));
    const std::span<const float> got = given.data<float>(), want = wanted_[i].data<float>();
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

}  // namespace shoal::compress

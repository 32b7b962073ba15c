#include "shoal/cluster/benchmarks/measured_stream.h"

#include <algorithm>
#include <random>
#include <utility>

#include "shoal/base/timing/load_generator.h"
#include "shoal/model/graph/random_inputs.h"

namespace shoal::cluster {

Result<std::unique_ptr<MeasuredStream>> MeasuredStream::deploy(Coordinator& coordinator,
                                                               plan::StreamPrediction prediction,
                                                               Plan plan_again) {
  std::unique_ptr<MeasuredStream> stream(
      new MeasuredStream(std::move(prediction), std::move(plan_again)));
  SHOAL_ASSIGN(stream->deployment_,
               FailoverDeployment::start(
                   coordinator,
                   {.plan = [self = stream.get()](const Workers& set) { return self->plan(set); },
                    .retry_interval = std::chrono::seconds(1)}));
  return stream;
}

Result<Turns> MeasuredStream::plan(const Workers& set) {
  if (std::exchange(is_first_, false)) return prediction_.turns;
  if (!plan_again_) return Status(Code::kExhausted, "a worker was lost or has come");
  SHOAL_ASSIGN(plan::StreamPrediction other, plan_again_(set));
  return std::move(other.turns);
}

Result<double> MeasuredStream::period(double dilation) {
  constexpr size_t kRequests = 16, kMost = 4096;
  constexpr double kLeastSeconds = 0.25;  // shorter ones say how busy the machine is by chance
  constexpr int kTries = 3;
  constexpr std::chrono::minutes kTimeout{10};
  std::mt19937 rng(1);  // a fixed seed: measurements can be repeated
  const Graph& graph = prediction_.graph();
  const std::vector<Tensor> inputs = random_inputs(graph, rng);
  LoadGenerator load(prediction_.in_flight, [&](size_t) {
    std::vector<Tensor> outputs(graph.outputs().size());
    return deployment_->run(inputs, outputs, kTimeout);
  });
  for (int i = 0;; ++i) {
    const size_t before = deployment_->changes();
    SHOAL_ASSIGN(double seconds, load.period(kRequests, prediction_.turns.size()));
    if (const double many = kLeastSeconds / seconds; many > kRequests) {
      SHOAL_ASSIGN(seconds, load.period(static_cast<size_t>(std::min(many, double{kMost})),
                                        prediction_.turns.size()));
    }
    if (deployment_->changes() == before || i == kTries) return seconds / dilation;
  }
}

}  // namespace shoal::cluster

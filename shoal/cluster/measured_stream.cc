#include "shoal/cluster/measured_stream.h"

#include <random>

#include "shoal/base/load_generator.h"
#include "shoal/graph/random_inputs.h"

namespace shoal::cluster {

Result<std::unique_ptr<MeasuredStream>> MeasuredStream::deploy(Coordinator& coordinator,
                                                               plan::StreamPrediction prediction) {
  std::unique_ptr<MeasuredStream> stream(new MeasuredStream(std::move(prediction)));
  for (const plan::ScheduledPlan& turn : stream->prediction_.turns) {
    SHOAL_ASSIGN(auto deployed, coordinator.deploy(turn));
    stream->turns_.push_back(std::move(deployed));
  }
  return stream;
}

Result<double> MeasuredStream::period(double dilation) {
  constexpr size_t kRequests = 16;
  constexpr std::chrono::minutes kTimeout{10};
  std::mt19937 rng(1);  // a fixed seed: measurements can be repeated
  const Graph& graph = prediction_.graph();
  const std::vector<Tensor> inputs = random_inputs(graph, rng);
  LoadGenerator load(prediction_.in_flight, [&](size_t request) {
    std::vector<Tensor> outputs(graph.outputs().size());
    return turns_[request % turns_.size()]->run(inputs, outputs, kTimeout);
  });
  SHOAL_ASSIGN(const double seconds, load.period(kRequests, turns_.size()));
  return seconds / dilation;
}

}  // namespace shoal::cluster

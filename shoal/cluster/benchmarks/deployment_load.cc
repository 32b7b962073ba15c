#include "shoal/cluster/benchmarks/deployment_load.h"

#include <random>
#include <thread>

#include "shoal/cluster/benchmarks/plan_race.h"
#include "shoal/model/graph/random_inputs.h"

namespace shoal::cluster {

namespace {

uint64_t bytes_of_request(const Graph& graph) {
  uint64_t bytes = 0;
  for (ValueId input : graph.inputs()) bytes += graph[input].type.bytes();
  for (ValueId output : graph.outputs()) bytes += graph[output].type.bytes();
  return bytes;
}

}  // namespace

void DeploymentLoad::Travel::observe(const WeightsProgress& progress) {
  static_cast<WeightProgress&>(*this) = sum_of(progress);
  end = Clock::now();
  if (!begin) begin = end;
}

double DeploymentLoad::Travel::seconds() const {
  return begin ? std::chrono::duration<double>(end - *begin).count() : 0;
}

DeploymentLoad::Progress DeploymentLoad::observer() {
  return [this](const WeightsProgress& progress) {
    second_.observe(progress);
    travelling_ = second_.done < second_.total;
    return Status();
  };
}

DeploymentLoad::Progress DeploymentLoad::interrupter() {
  return [this](const WeightsProgress& progress) {
    first_.observe(progress);
    travelling_ = 2 * first_.done < first_.total;
    return travelling_ ? Status() : Status(Code::kCancelled, "half of it is there");
  };
}

Result<DeploymentFigures> DeploymentLoad::run(Coordinator& coordinator,
                                              const DeploymentLoadOptions& options) {
  SHOAL_ASSIGN(const auto small, coordinator.deploy(options.small));
  std::mt19937 rng(1);  // a fixed seed: measurements can be repeated
  const std::vector<Tensor> inputs = random_inputs(options.small.graph(), rng);
  const auto timeout = generous_timeout(60 * options.dilation);
  const auto ask = [&](LatencyRecorder* record) {
    std::vector<Tensor> outputs(options.small.graph().outputs().size());
    const auto begin = Clock::now();
    const Status status = small->run(inputs, outputs, timeout);
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    if (status.ok() && record != nullptr) record->add(took.count() / options.dilation);
    return status;
  };
  SHOAL_TRY(ask(nullptr));  // the first request finds caches cold
  DeploymentFigures figures;
  const auto over =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(options.seconds * options.dilation));
  while (Clock::now() < over) SHOAL_TRY(ask(&figures.calm));

  first_ = second_ = {};  // the small one's weights do not count
  std::atomic<bool> stop = false;
  Status asked;
  std::thread asking([&] {
    while (!stop && asked.ok()) asked = ask(travelling_ ? &figures.busy : nullptr);
  });
  Status deployed = options.deploy_half(options.large);
  if (deployed.code() == Code::kCancelled) deployed = coordinator.deploy(options.large).status();
  travelling_ = false;
  stop = true;
  asking.join();
  SHOAL_TRY(deployed);
  SHOAL_TRY(asked);
  if (first_.total == 0) return invalid("the workers have all weights already");
  figures.needed = first_.total;
  figures.sent = first_.sent + second_.sent;
  figures.asked = figures.busy.count() * bytes_of_request(options.small.graph());
  figures.seconds = (first_.seconds() + second_.seconds()) / options.dilation;
  return figures;
}

}  // namespace shoal::cluster

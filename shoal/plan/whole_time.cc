// Published times [Mao 2017b]: seconds of a training step by MXNet on a Nexus 5X, with 128 samples.
// No roofline explains them: LeNet takes 3.9 times as long per multiplication as ConvNet, which has
// more of everything. The multiplications per sample identify the network; between two, times are
// interpolated.
#include "shoal/plan/whole_time.h"

#include <array>
#include <optional>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {
namespace {

struct PublishedStep {
  double macs;     // of a sample, forward and backward, as graphs of train/step/graph/step_graph.h
                   // have them
  double seconds;  // of a sample
};

constexpr std::string_view kPublishedDevice = "nexus5x-mxnet";
constexpr double kBatch = 128;
constexpr std::array kPublished = {PublishedStep{0.2272e6, 0.183 / kBatch},     // MLP
                                   PublishedStep{6.591e6, 11.031 / kBatch},     // LeNet
                                   PublishedStep{34.4371e6, 14.780 / kBatch}};  // ConvNet

// The graph of a training step gives scores, a loss, and a gradient at least.
bool is_training_step(const Graph& graph) {
  return graph.outputs().size() > 2 && graph[graph.outputs()[1]].type.shape.count() == 1 &&
         !graph.inputs().empty() && graph[graph.inputs()[0]].type.shape.rank() > 0;
}

double published_seconds(double macs) {
  PublishedStep from{0, 0};
  for (const PublishedStep& to : kPublished) {
    if (macs <= to.macs) {
      return from.seconds +
             (to.seconds - from.seconds) * (macs - from.macs) / (to.macs - from.macs);
    }
    from = to;
  }
  return from.seconds * macs / from.macs;
}

}  // namespace

double seconds_of_whole(const Graph& graph, const WorkerProfile& worker) {
  std::vector<Piece> outputs;
  const NodeRange all{0, graph.nodes().size()};
  for (ValueId id : live_after(graph, all)) {
    outputs.push_back({id, Region::whole(graph[id].type.shape)});
  }
  const auto part = make_part(graph, all, std::move(outputs));
  SHOAL_CHECK(part.ok());  // nothing is split
  if (!worker.name.starts_with(kPublishedDevice) || !is_training_step(graph)) {
    return seconds_of(graph, *part, worker);
  }
  double macs = 0;
  for (const PartNode& node : part->nodes) macs += work_of(graph, node).macs;
  const auto samples = static_cast<double>(graph[graph.inputs()[0]].type.shape[0]);
  return samples * published_seconds(macs / samples);
}

}  // namespace shoal::plan

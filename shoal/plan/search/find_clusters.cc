#include "shoal/plan/search/find_clusters.h"

#include <algorithm>
#include <set>

#include "shoal/plan/part.h"
#include "shoal/plan/sparse/refine.h"

namespace shoal::plan {
namespace {

ClusteredLayer layer_of(const Graph& graph, size_t index, const ClusterProfile& cluster,
                        const Layout& layout) {
  const Node& node = graph.nodes()[index];
  const TensorType& weight = graph[node.inputs[1]].type;
  const double density = sampled_density(graph[node.inputs[1]].constant->data<float>());
  const double non_zeros = density * static_cast<double>(weight.shape.count());
  const NodeRange alone{index, index + 1};
  const auto part = make_part(graph, alone, whole_pieces(graph, alone));
  SHOAL_CHECK(part.ok());
  ClusteredLayer layer{.node = index, .speeds = {}};
  const Shape& output = graph[node.outputs[0]].type.shape;
  const double bytes = sizeof(float) * static_cast<double>(output.count(0, output.rank() - 1));
  for (int worker : layout.workers) {
    const double seconds = seconds_of(graph, *part, cluster.workers[static_cast<size_t>(worker)]);
    layer.speeds.push_back(std::max(non_zeros, 1.0) / std::max(seconds, 1e-12));
    layer.seconds_per_value =
        std::max(layer.seconds_per_value, bytes / cluster.link_of(worker).bytes_per_second);
  }
  return layer;
}

}  // namespace

std::vector<ClusteredLayer> find_clustered_layers(const Graph& graph, const ClusterProfile& cluster,
                                                  const Layout& layout) {
  std::vector<ClusteredLayer> layers;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!can_be_clustered(graph, graph.nodes()[i])) continue;
    layers.push_back(layer_of(graph, i, cluster, layout));
  }
  return layers;
}

int64_t cluster_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule) {
  std::set<size_t> segments;
  std::set<ValueId> computed;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    if (!plan.segments[s].split.starts_with(name_of(Cut::kClusters))) continue;
    segments.insert(s);
    for (ValueId id : live_after(graph, plan.segments[s].nodes)) computed.insert(id);
  }
  int64_t bytes = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (!segments.contains(transfer.segment) && !computed.contains(transfer.piece.value)) continue;
    bytes += bytes_of(graph, transfer.piece);
  }
  return bytes;
}

bool are_disjoint(const TaskInputs& inputs) {
  for (size_t a = 0; a < inputs.size(); ++a) {
    for (size_t b = a + 1; b < inputs.size(); ++b) {
      for (const Piece& piece : inputs[a]) {
        for (const Piece& other : inputs[b]) {
          if (piece.value == other.value && common_count(piece.region, other.region) > 0) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

}  // namespace shoal::plan

// Decides for each segment whether to code it. A segment is coded if its products can be, and if
// all other products in it are at most a tenth of that work: every reader of a coded product
// decodes and then computes the rest of the segment itself, so the rest must be cheap.
#include <algorithm>

#include "shoal/plan/coding/coded_product.h"

namespace shoal::plan {
namespace {

// Work that every reader may have to repeat, as a part of the work that is coded.
constexpr double kMostLeftToReaders = 0.1;  // of multiply-accumulates

struct TileOf {
  const Tile* tile;
  int worker;
};

// The node's tiles in a segment, in the order of their first elements.
std::vector<TileOf> tiles_of(size_t node, const Segment& segment, const std::vector<Part>& parts) {
  std::vector<TileOf> tiles;
  for (size_t t = 0; t < parts.size(); ++t) {
    const auto it = std::ranges::find(parts[t].nodes, node, &PartNode::node);
    if (it != parts[t].nodes.end()) tiles.push_back({&it->tile, segment.tasks[t].worker});
  }
  std::ranges::sort(tiles, [](const TileOf& a, const TileOf& b) {
    return std::ranges::lexicographical_compare(a.tile->output.begin, b.tile->output.begin);
  });
  return tiles;
}

Result<SharedProduct> find_product(const Graph& graph, const Node& node,
                                   const std::vector<TileOf>& tiles, size_t spare,
                                   const std::vector<int>& workers) {
  std::vector<const Tile*> boxes;
  SharedProduct product;
  for (const TileOf& tile : tiles) {
    boxes.push_back(tile.tile);
    product.workers.push_back(tile.worker);
  }
  SHOAL_ASSIGN(product.split, find_split(graph, node, boxes));
  // A fused product is checked after lowering, when its integer sums are visible.
  if (is_plain(node)) {
    SHOAL_TRY(check_exact(graph, node, product.split, static_cast<int>(spare)));
  }
  std::vector<int> others = workers;
  std::erase_if(others, [&](int worker) {
    return std::ranges::find(product.workers, worker) != product.workers.end();
  });
  // A parity on a worker that also has a share would be lost together with it.
  if (others.size() >= spare) return product;
  return Status(Code::kUnsupported,
                place_of(graph, node) + " cannot be coded: no worker is left for a parity");
}

}  // namespace

CodedSegment find_coded_segment(const Graph& graph, const Segment& segment,
                                const std::vector<Part>& parts, size_t spare,
                                const std::vector<int>& workers) {
  CodedSegment coded;
  double coded_macs = 0, other_macs = 0;
  for (size_t i = segment.nodes.begin; i < segment.nodes.end; ++i) {
    const Node& node = graph.nodes()[i];
    const auto work = static_cast<double>(macs(graph, node));
    if (work == 0) continue;
    auto product = find_product(graph, node, tiles_of(i, segment, parts), spare, workers);
    (product.ok() ? coded_macs : other_macs) += work;
    if (product.ok()) {
      coded.products.emplace(i, *std::move(product));
    } else if (coded.why_not.empty()) {
      coded.why_not = product.status().message();
    }
  }
  if (coded.products.empty()) {
    coded.is_light = other_macs == 0;
    if (coded.is_light) coded.why_not = "there is no product in it";
  } else if (other_macs > kMostLeftToReaders * coded_macs) {
    coded.products.clear();
  } else {
    coded.why_not.clear();
  }
  return coded;
}

std::vector<CodedSegment> find_coded_segments(const Graph& graph, const Plan& plan,
                                              const Schedule& schedule, size_t spare,
                                              const std::vector<int>& workers) {
  std::vector<CodedSegment> coded;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    coded.push_back(find_coded_segment(graph, plan.segments[s], schedule.parts[s], spare, workers));
  }
  return coded;
}

}  // namespace shoal::plan

// Layouts as regions. Shares are turned into whole elements by the largest-remainder method, so
// that the counts add up to the length and each differs from its exact share by less than one. A
// cut point that would fall inside a group of elements that the operator computes together moves to
// the nearer end of that group; rounding is monotonic, so cut points stay in order.
#include "shoal/plan/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shoal::plan {
namespace {

// [n, c, rows, columns, ...] of images, [n, tokens, features] of sequences, [n, features].
std::optional<size_t> axis_of(Cut cut, size_t rank) {
  switch (cut) {
    case Cut::kBatch:
      return rank >= 2 ? std::optional<size_t>(0) : std::nullopt;
    case Cut::kRows:
      return rank >= 4   ? std::optional<size_t>(2)
             : rank == 3 ? std::optional<size_t>(1)
                         : std::nullopt;
    case Cut::kColumns:
      return rank >= 4 ? std::optional<size_t>(3) : std::nullopt;
    case Cut::kChannels:
      return rank == 3   ? std::optional<size_t>(2)
             : rank >= 2 ? std::optional<size_t>(1)
                         : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The shares of whole rows, or of whole columns, of a grid. A grid has straight borders, so the
// shares of single workers are met only as far as these sums allow.
std::vector<double> marginal(const Layout& layout, bool rows) {
  const int64_t columns = std::ssize(layout.workers) / layout.grid_rows;
  std::vector<double> sums(static_cast<size_t>(rows ? layout.grid_rows : columns), 0);
  for (size_t i = 0; i < layout.shares.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    sums[static_cast<size_t>(rows ? at / columns : at % columns)] += layout.shares[i];
  }
  return sums;
}

// The node that computes the value; null for an input of the graph.
const Node* maker_of(const Graph& graph, ValueId value) {
  const auto nodes = graph.nodes();
  const auto it = std::ranges::find_if(nodes, [&](const Node& node) {
    return std::ranges::find(node.outputs, value) != node.outputs.end();
  });
  return it == nodes.end() ? nullptr : &*it;
}

std::vector<Region> grid_regions(const Layout& layout, const Shape& shape) {
  if (shape.rank() < 4) return {};
  const std::vector<int64_t> rows = cut_points(shape[2], marginal(layout, true));
  const std::vector<int64_t> columns = cut_points(shape[3], marginal(layout, false));
  std::vector<Region> regions;
  for (size_t r = 0; r + 1 < rows.size(); ++r) {
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      Region region = Region::whole(shape);
      region.begin[2] = rows[r];
      region.end[2] = rows[r + 1];
      region.begin[3] = columns[c];
      region.end[3] = columns[c + 1];
      regions.push_back(region);
    }
  }
  return regions;
}

}  // namespace

std::string_view name_of(Cut cut) {
  switch (cut) {
    case Cut::kNone:
      return "one worker";
    case Cut::kBatch:
      return "batch";
    case Cut::kRows:
      return "rows";
    case Cut::kColumns:
      return "columns";
    case Cut::kGrid:
      return "grid";
    case Cut::kChannels:
      return "channels";
    case Cut::kInputs:
      return "inputs";
    case Cut::kClusters:
      return "clusters";
  }
  return "";
}

std::string Layout::describe() const {
  if (cut == Cut::kNone) return "worker " + std::to_string(workers[0]);
  std::string text(name_of(cut));
  if (cut == Cut::kGrid) {
    text += " " + std::to_string(grid_rows) + "x" + std::to_string(std::ssize(workers) / grid_rows);
  }
  return text + " over " + std::to_string(workers.size());
}

std::vector<int64_t> cut_points(int64_t length, const std::vector<double>& shares) {
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t given = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double exact = static_cast<double>(length) * shares[i] / total;
    counts.push_back(static_cast<int64_t>(std::floor(exact)));
    // Negated remainders sort the largest first; equal ones keep the order of workers.
    remainders.push_back({static_cast<double>(counts.back()) - exact, i});
    given += counts.back();
  }
  std::ranges::sort(remainders);
  for (size_t i = 0; given < length; ++i, ++given) ++counts[remainders[i % counts.size()].second];
  std::vector<int64_t> points = {0};
  for (int64_t count : counts) points.push_back(points.back() + count);
  return points;
}

std::vector<int64_t> cut_points(const Graph& graph, ValueId value, size_t axis,
                                const std::vector<double>& shares) {
  const Shape& shape = graph[value].type.shape;
  std::vector<int64_t> points = cut_points(shape[axis], shares);
  const Node* maker = maker_of(graph, value);
  if (maker == nullptr || maker->op->split == nullptr || maker->outputs[0] != value) return points;
  for (int64_t& point : points) {
    if (point == 0 || point == shape[axis]) continue;
    Region next = Region::whole(shape);
    next.begin[axis] = point;
    next.end[axis] = point + 1;
    // The tile of a single element covers the whole group that the element belongs to.
    const auto tile = maker->op->split(*maker, graph.operands(maker->inputs), next);
    if (!tile) return points;
    const int64_t before = tile->output.begin[axis], after = tile->output.end[axis];
    point = point - before <= after - point ? before : after;
  }
  return points;
}

std::vector<Region> regions_of(const Layout& layout, const Graph& graph, ValueId value) {
  const Shape& shape = graph[value].type.shape;
  if (layout.cut == Cut::kNone) return {Region::whole(shape)};
  if (layout.cut == Cut::kGrid) return grid_regions(layout, shape);
  const std::optional<size_t> axis = axis_of(layout.cut, shape.rank());
  if (!axis) return {};
  const std::vector<int64_t> points = cut_points(graph, value, *axis, layout.shares);
  std::vector<Region> regions;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    Region region = Region::whole(shape);
    region.begin[*axis] = points[i];
    region.end[*axis] = points[i + 1];
    regions.push_back(region);
  }
  return regions;
}

std::optional<std::vector<Task>> tasks_of(const Graph& graph, NodeRange nodes,
                                          const Layout& layout) {
  std::vector<Task> tasks;
  for (int worker : layout.workers) tasks.push_back({worker, {}});
  const std::vector<ValueId> live = live_after(graph, nodes);
  const bool by_value = layout.cut == Cut::kInputs || layout.cut == Cut::kClusters;
  if (by_value && live.size() < 2) return std::nullopt;
  for (size_t v = 0; v < live.size(); ++v) {
    const ValueId id = live[v];
    if (by_value) {
      tasks[v % tasks.size()].outputs.push_back({id, Region::whole(graph[id].type.shape)});
      continue;
    }
    const std::vector<Region> regions = regions_of(layout, graph, id);
    if (regions.empty()) return std::nullopt;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (!is_empty(regions[i])) tasks[i].outputs.push_back({id, regions[i]});
    }
  }
  std::erase_if(tasks, [](const Task& task) { return task.outputs.empty(); });
  return tasks;
}

}  // namespace shoal::plan

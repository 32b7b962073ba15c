#include "shoal/plan/rescale.h"

#include <map>
#include <string_view>
#include <utility>

namespace shoal::plan {
namespace {

Status other_nodes() { return Status(Code::kUnsupported, "the plan is one of other nodes"); }

bool has_same_nodes(const Graph& from, const Graph& to) {
  if (from.nodes().size() != to.nodes().size()) return false;
  for (size_t n = 0; n < from.nodes().size(); ++n) {
    if (from.nodes()[n].op != to.nodes()[n].op) return false;
  }
  return true;
}

// Rounded to the nearest, by integers: equal borders stay equal.
int64_t scaled(int64_t border, int64_t from, int64_t to) {
  return from == 0 ? 0 : (2 * border * to + from) / (2 * from);
}

Region rescaled(Region region, const Shape& from, const Shape& to) {
  for (size_t d = 0; d < from.rank(); ++d) {
    region.begin[d] = scaled(region.begin[d], from[d], to[d]);
    region.end[d] = scaled(region.end[d], from[d], to[d]);
  }
  return region;
}

}  // namespace

Result<Plan> rescaled(const Plan& plan, const Graph& from, const Graph& to, int workers) {
  if (plan.survives != 0 || !plan.codes.empty() || !has_same_nodes(from, to)) return other_nodes();
  std::map<std::string_view, ValueId> by_name;
  for (const Node& node : to.nodes()) {
    for (ValueId id : node.outputs) by_name[to[id].name] = id;
  }
  Plan result;
  for (const Segment& segment : plan.segments) {
    Segment& copy = result.segments.emplace_back(Segment{segment.nodes, segment.split, {}});
    for (const Task& task : segment.tasks) {
      Task narrow{task.worker, {}};
      for (const Piece& piece : task.outputs) {
        const auto match = by_name.find(from[piece.value].name);
        if (match == by_name.end()) return other_nodes();
        const Shape &was = from[piece.value].type.shape, &is = to[match->second].type.shape;
        if (was.rank() != is.rank()) return other_nodes();
        const Region region = rescaled(piece.region, was, is);
        if (region.shape().count() > 0) narrow.outputs.push_back({match->second, region});
      }
      if (!narrow.outputs.empty()) copy.tasks.push_back(std::move(narrow));
    }
  }
  if (const Status valid = verify(to, result, workers); !valid.ok()) {
    return Status(Code::kUnsupported, std::string(valid.message()));
  }
  return result;
}

}  // namespace shoal::plan

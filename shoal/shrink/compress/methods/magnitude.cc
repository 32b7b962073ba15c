// magnitude: removes the units of the least weights, channels and heads, until the target is met.
#include "shoal/shrink/compress/methods/methods.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {

Result<Compressed> magnitude(const Graph& graph, const Context& context) {
  SHOAL_ASSIGN(const Groups groups, find_groups(graph));
  if (groups.units.empty()) {
    const std::string reason = groups.refused.empty() ? "" : ": " + groups.refused[0].reason;
    return Status(Code::kUnsupported, "there is no unit that could be removed" + reason);
  }
  SHOAL_ASSIGN(const std::vector<size_t> units,
               choose(graph, groups, magnitudes(graph, groups), context.target));
  Compressed result;
  result.parts = groups.units.size();
  result.compressed = units.size();
  SHOAL_ASSIGN(result.graph, remove(graph, groups, units));
  return result;
}

}  // namespace shoal::compress

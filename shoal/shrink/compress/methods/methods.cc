// The table of methods. list.inc names each once; the macro makes a declaration and an entry.
#include "shoal/shrink/compress/methods/methods.h"

#include <algorithm>
#include <array>

#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {

#define SHOAL_METHOD(name, needs, parts, what) \
  Result<Compressed> name(const Graph& graph, const Context& context);
#include "shoal/shrink/compress/methods/list.inc"
#undef SHOAL_METHOD

namespace {

constexpr std::array kMethods = {
#define SHOAL_METHOD(name, needs, parts, what) Method{#name, needs, parts, what, name},
#include "shoal/shrink/compress/methods/list.inc"
#undef SHOAL_METHOD
};

}  // namespace

std::span<const Method> methods() { return kMethods; }

const Method* find_method(std::string_view name) {
  const auto method = std::ranges::find(kMethods, name, &Method::name);
  return method == kMethods.end() ? nullptr : &*method;
}

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

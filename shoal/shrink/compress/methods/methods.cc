// The table of methods. list.inc names each method once; the macro makes a declaration and an entry
// of it.
#include "shoal/shrink/compress/methods/methods.h"

#include <algorithm>
#include <array>

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

}  // namespace shoal::compress

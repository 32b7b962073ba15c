// The table of all operators, made from list.inc.
#include "shoal/model/ops/ops.h"

#include <unordered_map>

namespace shoal::ops {

std::span<const Operator* const> all() {
#define SHOAL_OPERATOR(name) &name,
  static const Operator* const table[] = {
#include "shoal/model/ops/list.inc"
  };
#undef SHOAL_OPERATOR
  return table;
}

// The map is never deleted: threads may still look operators up while the program exits.
const Operator* find(std::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string_view, const Operator*>;
    for (const Operator* op : all()) map->emplace(op->name, op);
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace shoal::ops

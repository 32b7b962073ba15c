#include "shoal/base/text/facts.h"

namespace shoal {

Json object_of(const Facts& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts) {
    if (!fact.name.empty()) object[fact.name] = fact.value;
  }
  return object;
}

Json list_of(const std::vector<Facts>& rows) {
  Json list = Json::array();
  for (const Facts& row : rows) list.push_back(object_of(row));
  return list;
}

}  // namespace shoal

// How commands end that let a network learn and write it last.
#pragma once

#include <cstdio>
#include <optional>
#include <vector>

#include "../exit_codes.h"
#include "apps/flags/json.h"
#include "shoal/base/status.h"

namespace shoal::cli {

// A number that may not be there: null.
inline Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

// Groups of units, of which some were removed.
template <class Group>
Json removed_json(const std::vector<Group>& groups) {
  Json all = Json::array();
  for (const Group& group : groups) {
    all.push_back({{"weights", group.weights},
                   {"axis", group.axis},
                   {"before", group.before},
                   {"left", group.left}});
  }
  return all;
}

// Prints the result, as JSON on one line or by print_table(); or says why there is none.
template <class T>
Outcome print_result(const Result<T>& result, bool json, Json (*to_json)(const T&),
                     void (*print_table)(const T&)) {
  if (!result.ok() && result.status().code() == Code::kCancelled) {
    return {Exit::kInterrupted, "interrupted; nothing was written"};
  }
  if (!result.ok()) return fail(Doing::kTrain, result.status());
  if (json) {
    std::printf("%s\n", to_json(*result).dump().c_str());
  } else {
    print_table(*result);
  }
  return {};
}

}  // namespace shoal::cli

// How commands end that let a network learn and write it last.
#pragma once

#include <optional>

#include "../exit_codes.h"
#include "../print_found.h"

namespace shoal::cli {

// A number that may not be there: null.
inline Json optional_json(const std::optional<double>& number) { return number; }

inline Outcome fail_to_learn(const Status& status) {
  if (status.code() != Code::kCancelled) return fail(Doing::kTrain, status);
  return {Exit::kInterrupted, "interrupted; nothing was written"};
}

// Prints the result, or says why there is none.
template <class T>
Outcome print_result(const Result<T>& result, bool json) {
  if (!result.ok()) return fail_to_learn(result.status());
  print_found(json, *result);
  return {};
}

// The same with an object and a table of the command's own.
template <class T>
Outcome print_result(const Result<T>& result, bool json, Json (*to_json)(const T&),
                     void (*print_table)(const T&)) {
  if (!result.ok()) return fail_to_learn(result.status());
  json ? print_json(to_json(*result)) : print_table(*result);
  return {};
}

}  // namespace shoal::cli

// How commands end that let a network learn and write it last.
#pragma once

#include <string>

#include "../exit_codes.h"
#include "../facts.h"
#include "shoal/base/files/atomic_file.h"

namespace shoal::cli {

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

// The same, after page(result) was written to the file `report`, if there is one.
template <class T, class Page>
Outcome print_result(const Result<T>& result, bool json, const std::string& report, Page page) {
  if (result.ok() && !report.empty()) {
    const Status written = write_file(report, page(*result));
    if (!written.ok()) return fail(Doing::kTrain, written);
  }
  return print_result(result, json);
}

}  // namespace shoal::cli

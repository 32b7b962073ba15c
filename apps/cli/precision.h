// Which layers a GPU computes in half precision, for `shoal bench --precision auto`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "shoal/session/session.h"

namespace shoal::cli {

// The device that was found, and what the search says of it.
struct AutomaticPrecision {
  std::unique_ptr<Device> device;
  Json facts;
};

// Accuracy is the share of random inputs whose largest output is where it is in fp32; `budget` is a
// share, too. Fails with kUnsupported where this program was built without the device.
Result<AutomaticPrecision> choose_precision(const std::string& device, double budget,
                                            const std::vector<std::string>& shapes,
                                            const std::function<Result<Session>(Device&)>& open);

}  // namespace shoal::cli

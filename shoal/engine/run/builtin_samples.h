// The images inside the library, answered by the model inside it: does a device compute right?
#pragma once

#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/engine/run/scores.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

struct ClassifiedSample {
  std::string_view name;  // "sample_7.png"
  RankedClass best;       // of the digits in order it should be its place
};

// Fails as the session does. REQUIRES: the session is one of kDigitsModel.
Result<std::vector<ClassifiedSample>> classify_samples(Session& session);

// A row for each.
std::vector<Facts> rows_of(const std::vector<ClassifiedSample>& samples);

}  // namespace shoal::fit

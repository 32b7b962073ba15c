// Dispute: an element about which the workers of a plan that survives losses contradict each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {

namespace message {
class Checked;
}

// What one worker says of an element.
struct Claim {
  std::string from;  // the worker's name; empty: the worker that reports the dispute
  ValueId value = kNoValue;
  double said = 0;

  friend bool operator==(const Claim&, const Claim&) = default;
};

// Claims about one element of a value, by several workers; or about the same element of all members
// of a code, as long as they have it.
struct Dispute {
  Shape index;
  std::vector<Claim> claims;

  friend bool operator==(const Dispute&, const Dispute&) = default;
};

// More in one report tell nothing new.
inline constexpr size_t kMostDisputes = 8;

void encode(const std::vector<Dispute>& disputes, message::Checked& to);
// kCorrupt if there are more, or more claims in one, than any worker has reason to report.
Result<std::vector<Dispute>> decode(const message::Checked& from);

}  // namespace shoal::cluster

// Target: how small a network is to become. Only compares numbers: remove.h counts costs.
#pragma once

#include <cstdint>
#include <string_view>

#include "shoal/base/status.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// What a network costs.
struct Size {
  int64_t macs = 0;        // multiply-accumulates of a run
  int64_t parameters = 0;  // numbers that training learns, as parameters() of graph.h counts them
  int64_t bytes = 0;       // of all constants

  friend bool operator==(const Size&, const Size&) = default;
};

// The limit of each cost: up to 1 a share of the original, above 1 a number. 1 demands nothing.
struct Target {
  double units = 1;       // that could be removed; a share
  double macs = 1;        // as Size says, and so are the others
  double parameters = 1;  // see macs
  double bytes = 1;       // see macs

  friend bool operator==(const Target&, const Target&) = default;
};

// Parses "macs=0.5" or "macs=20e6,parameters=0.3". kInvalidArgument for any other text.
Result<Target> parse_target(std::string_view text);

// Fails with kInvalidArgument for a number that is not above 0, and for units above 1.
Status check(const Target& target);

// An intermediate target for a network of size `before`: each share to the power `part`, so that
// equal parts remove equal shares. REQUIRES: check(target) is OK, and 0 < part <= 1.
Target part_way(const Target& target, const Size& before, double part);

// The same target as absolute numbers, for a network that shrank from `before`. REQUIRES:
// check(target) is OK.
Target in_numbers(const Target& target, const Size& before);

// Whether a network of size `now` meets the target for a network of size `before`. Units are not
// looked at. REQUIRES: check(target) is OK.
bool meets(const Size& now, const Size& before, const Target& target);

}  // namespace shoal::compress

#pragma GCC visibility pop

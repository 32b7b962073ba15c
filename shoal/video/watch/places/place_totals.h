// Totals of a stream's events by the name of the zone or the line.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "shoal/video/watch/places/activity.h"

namespace shoal::watch {

struct ZoneTotal {
  size_t entered = 0;
  double seconds = 0;  // of all stays that have ended
};
struct LineTotal {
  size_t forwards = 0, backwards = 0;
};

// A value.
struct PlaceTotals {
  std::map<std::string, ZoneTotal> zones = {};
  std::map<std::string, LineTotal> lines = {};

  void add(std::span<const Event> events);
};

}  // namespace shoal::watch

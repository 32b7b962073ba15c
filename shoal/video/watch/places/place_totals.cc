#include "shoal/video/watch/places/place_totals.h"

namespace shoal::watch {

void PlaceTotals::add(std::span<const Event> events) {
  for (const Event& one : events) {
    if (one.kind == EventKind::kEntered) ++zones[one.place].entered;
    if (one.kind == EventKind::kLeft) zones[one.place].seconds += one.seconds;
    if (one.kind != EventKind::kCrossed) continue;
    LineTotal& line = lines[one.place];
    ++(one.forwards ? line.forwards : line.backwards);
  }
}

}  // namespace shoal::watch

#include "shoal/video/watch/places/place_totals.h"

namespace shoal::watch {

void PlaceTotals::add(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.kind == EventKind::kEntered) ++zones[event.place].entered;
    if (event.kind == EventKind::kLeft) zones[event.place].seconds += event.seconds;
    if (event.kind != EventKind::kCrossed) continue;
    LineTotal& line = lines[event.place];
    ++(event.forwards ? line.forwards : line.backwards);
  }
}

}  // namespace shoal::watch

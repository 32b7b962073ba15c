// What is seen in streams, as JSON for scripts and as lines for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/video/watch/output/draw.h"
#include "shoal/video/watch/places/activity.h"
#include "shoal/video/watch/places/place_totals.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

Json to_json(const Event& event);

// The answer about a frame of this source, and what happened in it.
Json to_json(const FrameAnswer& answer, const std::vector<Event>& events,
             const std::string& source);

// A stream in numbers. `computed`: of the multiply-accumulates of a look, those that were computed.
Json to_json(const WatchResult& result, double computed);

// The same in words, on one line.
std::string text_of(const WatchResult& result);

// A stream among several.
struct StreamFacts {
  std::string source;
  double computed = 1;  // as above
  Json more = Json::object();
};
// All streams together, of which so much was computed, and as "sources" each of them. REQUIRES: as
// many as there are results.
Json to_json(const StreamResults& results, double computed, const std::vector<StreamFacts>& each);

// What happened at zones and lines.
Json to_json(const PlaceTotals& totals);

// A line for each box, which begins with `source`, and for each event. Names of classes are those
// of `what`.
std::string text_of(const FrameAnswer& answer, const Annotation& what, const std::string& source);
std::string text_of(const std::vector<Event>& events, const Annotation& what);

}  // namespace shoal::watch

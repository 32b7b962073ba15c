// What is seen in a frame, as JSON for scripts and as lines for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/json.h"
#include "shoal/video/watch/output/draw.h"
#include "shoal/video/watch/places/activity.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

Json to_json(const Event& event);

// The answer about a frame of this source, and what happened in it.
Json to_json(const FrameAnswer& answer, const std::vector<Event>& events,
             const std::string& source);

// A line for each box, which begins with `source`, and for each event. Names of classes are those
// of `what`.
std::string text_of(const FrameAnswer& answer, const Annotation& what, const std::string& source);
std::string text_of(const std::vector<Event>& events, const Annotation& what);

}  // namespace shoal::watch

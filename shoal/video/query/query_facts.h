// Indices of videos and answers from them, for scripts.
#pragma once

#include "shoal/base/text/json.h"
#include "shoal/video/query/video_query.h"

namespace shoal::query {

Json to_json(const VideoIndex& made);
// The frames with a class, found in `seconds`.
Json to_json(const AskResult& found, int64_t label, double seconds);

}  // namespace shoal::query

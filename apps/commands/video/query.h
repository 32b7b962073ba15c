// shoal query: its settings, and the JSON fields of its results.
#pragma once

#include "shoal/base/text/json.h"
#include "shoal/base/text/setting.h"
#include "shoal/video/query/video_query.h"

namespace shoal::query {

// All but the source.
SettingList settings_of(VideoIndexOptions& options);

Json to_json(const VideoIndex& made);
// The frames with a class, found in `seconds`.
Json to_json(const AskResult& found, int64_t label, double seconds);

}  // namespace shoal::query

// How a video is indexed, by the names of these settings.
#pragma once

#include "shoal/base/text/setting.h"
#include "shoal/video/query/video_query.h"

namespace shoal::query {

// All but the source.
SettingList settings_of(VideoIndexOptions& options);

}  // namespace shoal::query

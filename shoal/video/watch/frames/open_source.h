// Frame sources by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/watch/frames/frame_source.h"
#include "shoal/video/watch/frames/video_source.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// An image, the images of a folder by name, the synthetic scene ("zoo:scene"), or a video: a file,
// a camera (/dev/video0), a URL (rtsp://, http://). kNotFound if there is none; fails as
// open_video().
Result<std::unique_ptr<FrameSource>> open_source(const std::string& source,
                                                 const VideoOptions& video = {});

// Several of them. Fails as the first does that cannot be opened.
Result<std::vector<std::unique_ptr<FrameSource>>> open_sources(
    const std::vector<std::string>& sources, const VideoOptions& video = {});

}  // namespace shoal::watch

#pragma GCC visibility pop

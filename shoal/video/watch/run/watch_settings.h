// WatchSettings: how streams of images are watched, in words, as flags and files say it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/video/watch/run/look_words.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

struct WatchSettings {
  LookWords look = {};
  std::string gate = "off";  // or auto
  WatchOptions options = {};
  double timeout = 10;  // seconds without a frame

  std::chrono::milliseconds frame_timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * timeout));
  }
};

// By their names.
SettingList settings_of(WatchSettings& settings);

// Where streams are watched, and what for.
struct WatchPurpose {
  bool activity = false;    // what objects do is wanted, for which they need identities
  bool placed = false;      // each stream has a device of its own
  bool on_cluster = false;  // its workers may be lost, and come again
};
WatchOptions options_for(const WatchSettings& settings, const WatchPurpose& purpose);

// The name of the detector for these sources: `model`, or where that is empty the synthetic scene's
// own, if there is nothing else to see; otherwise kInvalidArgument.
Result<std::string> detector_for(const std::string& model, const std::vector<std::string>& sources);

}  // namespace shoal::watch

// WatchSettings: how streams of images are watched, in words, as flags and files say it.
#pragma once

#include <chrono>
#include <string>

#include "shoal/base/setting.h"
#include "shoal/watch/look_words.h"
#include "shoal/watch/watch.h"

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

}  // namespace shoal::watch

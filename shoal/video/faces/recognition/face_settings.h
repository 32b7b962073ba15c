// FaceSettings: how faces are found, told apart and looked up, in words, as flags and files say it.
#pragma once

#include <cstdint>

#include "shoal/base/text/setting.h"
#include "shoal/video/faces/recognition/cascade.h"
#include "shoal/video/faces/recognition/database.h"

namespace shoal::faces {

struct FaceSettings {
  double threshold = FaceDatabase::kUsualThreshold;  // squared distance; of a new database
  double score = 0.6;
  double agreement = 0.99;  // of early answers
  uint64_t exits = 2, lessons = 1000, burst = 1, seed = 1;

  CascadeOptions cascade() const;
};

// By their names: of the networks; of a new database; of exits, which learn; of pictures that are
// shown to measure all of it.
SettingList network_settings(FaceSettings& settings);
SettingList database_settings(FaceSettings& settings);
SettingList exit_settings(FaceSettings& settings);
SettingList picture_settings(FaceSettings& settings);

}  // namespace shoal::faces

// PlaceSettings: where several streams of images are looked at on a cluster, in words, as flags and
// files say it.
#pragma once

#include <cstddef>
#include <string>

#include "apps/commands/plans/plan_settings.h"
#include "shoal/base/text/setting.h"

namespace shoal::config {

struct PlaceSettings {
  std::string place = "auto";  // or whole, or split
  double rate = 30, watts = 0;

  // Whether each stream is on a worker of its own; otherwise one network is split for all of them.
  // `delta`: only what changed is computed.
  bool is_whole(const PlanSettings& plan, size_t streams, bool delta) const;
  // kInvalidArgument for what does not go together.
  Status check(const PlanSettings& plan, bool delta) const;
};

// By their names.
SettingList settings_of(PlaceSettings& settings);

}  // namespace shoal::config

#include "apps/commands/plans/place_settings.h"

namespace shoal::config {

Status PlaceSettings::check(const PlanSettings& plan, bool delta) const {
  if (place != "whole") return {};
  if (!plan.is_on_cluster()) return invalid("--place: whole needs --cluster");
  if (delta || plan.survive > 0 || plan.is_stream() || plan.split != "any") {
    return invalid("--place: whole goes without --delta, --survive, --split and --objective");
  }
  return {};
}

bool PlaceSettings::is_whole(const PlanSettings& plan, size_t streams, bool delta) const {
  if (place != "auto") return place == "whole";
  return streams > 1 && PlaceSettings{.place = "whole"}.check(plan, delta).ok();
}

SettingList settings_of(PlaceSettings& s) {
  return {
      Setting("place", s.place,
              "With --cluster: whole, each stream on the worker that is best for it; split, one "
              "network over all workers; auto: whole for several sources")
          .one_of({"auto", "whole", "split"}),
      Setting("rate", s.rate, "Frames a second that each source has, for --place to plan by")
          .in(0.01, 1e4),
      Setting("watts", s.watts,
              "Of a worker that computes, beyond those at rest: for the energy of a frame")
          .in(0, 1e6),
  };
}

}  // namespace shoal::config

#include "shoal/video/watch/run/watch_settings.h"

#include <algorithm>

#include "shoal/engine/delta/delta_device.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/keyframe/pipeline.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::watch {
namespace {

// How long a cluster may be without workers until watching fails.
constexpr std::chrono::seconds kDetectorTimeout{30};

}  // namespace

SettingList settings_of(WatchSettings& s) {
  return {
      Setting("head", s.look.head, "What its outputs mean, if their shapes do not say it")
          .one_of(detect::head_names()),
      Setting("gate", s.gate, "auto: do not look at frames in which nothing changed")
          .one_of({"auto", "off"}),
      Setting("agreement", s.options.gate_options.agreement,
              "F1 with a detector that looks at every frame, for --gate auto")
          .in(0, 1),
      Setting("delta", s.look.delta, "auto, or a threshold: compute only what changed; 0: exactly")
          .parsed_by(parse_delta),
      Setting("key-frames", s.look.key_frames,
              "auto, or one in N frames: features of the others are those of the last one, moved "
              "by what is seen to move; with :async they are computed meanwhile, with :sparse only "
              "where the image has changed")
          .parsed_by(keyframe::parse_key_frames),
      Setting("motion", s.look.motion,
              "What moves features between key frames: flow, or the vectors of a video's codec "
              "where it has them")
          .one_of({"flow", "codec"}),
      Setting("rect", s.look.rectangular,
              "Compute only the part of the network's input that the image fills"),
      Setting("track", s.options.track, "Follow objects: boxes have an id"),
      Setting("frames", s.options.frames, "Only the first N frames of each source; 0: all")
          .also("limit"),
      Setting("score", s.options.suppression.least_score, "The least score of a box").in(0, 1),
      Setting("timeout", s.timeout, "Seconds without a frame until a video has stalled")
          .in(0.1, 3600),
  };
}

WatchOptions options_for(const WatchSettings& settings, const WatchPurpose& purpose) {
  WatchOptions options = settings.options;
  options.gate = settings.gate == "auto";
  options.track = options.track || purpose.activity;
  options.at_once = purpose.placed;
  if (purpose.on_cluster) options.detector_timeout = kDetectorTimeout;
  return options;
}

Result<std::string> detector_for(const std::string& model,
                                 const std::vector<std::string>& sources) {
  if (!model.empty()) return model;
  const auto is_scene = [](const std::string& source) { return source == kScene; };
  if (std::ranges::all_of(sources, is_scene)) return std::string(kScene);
  return invalid("model is needed: a detector");
}

}  // namespace shoal::watch

#include "shoal/watch/watch_settings.h"

#include "shoal/delta/delta_device.h"
#include "shoal/detect/head.h"
#include "shoal/keyframe/pipeline.h"

namespace shoal::watch {

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
      Setting("frames", s.options.frames, "Only the first N frames of each source; 0: all"),
      Setting("score", s.options.suppression.least_score, "The least score of a box").in(0, 1),
      Setting("timeout", s.timeout, "Seconds without a frame until a video has stalled")
          .in(0.1, 3600),
  };
}

}  // namespace shoal::watch

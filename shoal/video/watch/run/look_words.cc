#include "shoal/video/watch/run/look_words.h"

namespace shoal::watch {

Result<LookOptions> LookWords::options() const {
  LookOptions options{
      .head = detect::find_head(head), .motion = uses_codec(), .rectangular = rectangular};
  SHOAL_ASSIGN(options.delta, parse_delta(delta));
  SHOAL_ASSIGN(options.key_frames, keyframe::parse_key_frames(key_frames));
  if (delta != "off" && key_frames != "off") {
    return invalid("delta and key-frames exclude each other");
  }
  if (uses_codec() && key_frames == "off") return invalid("motion codec needs key-frames");
  if (rectangular && key_frames != "off") {
    return invalid("rect and key-frames exclude each other");
  }
  return options;
}

}  // namespace shoal::watch

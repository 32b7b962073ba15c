// How to look at frames, in words: as flags and settings give it.
#pragma once

#include <string>

#include "shoal/base/status.h"
#include "shoal/video/watch/run/looks.h"

namespace shoal::watch {

struct LookWords {
  std::string head = {};           // one of detect::head_names(); empty: as outputs look
  std::string delta = "off";       // as parse_delta() takes it
  std::string key_frames = "off";  // as keyframe::parse_key_frames() takes it
  std::string motion = "flow";     // what moves features: flow, or the codec's vectors
  bool rectangular = false;

  bool uses_codec() const { return motion == "codec"; }
  // kInvalidArgument for words that are none, and for those that exclude each other.
  Result<LookOptions> options() const;
};

}  // namespace shoal::watch

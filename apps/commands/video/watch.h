// shoal watch: its settings, and the JSON fields and sentences about streams.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/video/mqtt/sinks.h"
#include "shoal/video/watch/places/place_totals.h"
#include "shoal/video/watch/run/looks.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

// How to process frames, in words.
struct LookWords {
  std::string head = {};           // one of detect::head_names(); empty: as outputs look
  std::string delta = "off";       // as parse_delta() takes it
  std::string key_frames = "off";  // as keyframe::parse_key_frames() takes it
  std::string motion = "flow";     // what moves features: flow, or the codec's vectors
  bool rectangular = false;

  bool uses_codec() const { return motion == "codec"; }
  // kInvalidArgument for unknown words, and for those that exclude each other.
  Result<LookOptions> options() const;
};

struct WatchSettings {
  LookWords look = {};
  std::string gate = "off";  // or auto
  WatchOptions options = {};
  double timeout = 10;  // seconds without a frame

  std::chrono::milliseconds frame_timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * timeout));
  }
};

SettingList settings_of(WatchSettings& settings);

// The place and the purpose of watching.
struct WatchPurpose {
  bool activity = false;    // what objects do is wanted, for which they need identities
  bool placed = false;      // each stream has its own device
  bool on_cluster = false;  // its workers may be lost, and come again
};
WatchOptions options_for(const WatchSettings& settings, const WatchPurpose& purpose);

// The name of the detector for these sources: `model` or, if that is empty, the synthetic scene's,
// if there is no other source; otherwise kInvalidArgument.
Result<std::string> detector_for(const std::string& model, const std::vector<std::string>& sources);

// A stream in numbers. `computed`: the share of a full frame's multiply-accumulates.
Json to_json(const WatchResult& result, double computed);

// The same in words, on one line.
std::string text_of(const WatchResult& result);

// A stream among several.
struct StreamFacts {
  std::string source;
  double computed = 1;  // as above
  Json more = Json::object();
};
// All streams together, with the computed share, and as "sources" each of them. REQUIRES: as many
// as there are results.
Json to_json(const StreamResults& results, double computed, const std::vector<StreamFacts>& each);

// Events at zones and lines.
Json to_json(const PlaceTotals& totals);

}  // namespace shoal::watch

namespace shoal::mqtt {

SettingList settings_of(SinkOptions& options);

}  // namespace shoal::mqtt

#include "apps/commands/video/watch.h"

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

Json to_json(const WatchResult& result, double computed) {
  return {{"frames", result.frames},
          {"skipped", result.skipped},
          {"fps", result.fps()},
          {"latency_ms_p50", result.latency_ms_p50},
          {"latency_ms_p99", result.latency_ms_p99},
          {"changed", result.changed},
          {"macs_share", result.macs_share() * computed}};
}

std::string text_of(const WatchResult& result) {
  return std::to_string(result.frames) + " frames, " + std::to_string(result.skipped) +
         " of them not looked at; " + fixed(result.fps(), 1) + " frames/s, " +
         fixed(result.latency_ms_p50, 2) + " ms each";
}

Json to_json(const StreamResults& results, double computed, const std::vector<StreamFacts>& each) {
  Json sources = Json::array();
  for (size_t i = 0; i < each.size(); ++i) {
    Json one = to_json(results.each[i], each[i].computed);
    one["source"] = each[i].source;
    one.update(each[i].more);
    sources.push_back(std::move(one));
  }
  Json json = to_json(results.all, computed);
  json["sources"] = std::move(sources);
  return json;
}

Json to_json(const PlaceTotals& totals) {
  Json zones = Json::object(), lines = Json::object();
  for (const auto& [name, sum] : totals.zones) {
    zones[name] = Json{{"entered", sum.entered}, {"seconds", sum.seconds}};
  }
  for (const auto& [name, sum] : totals.lines) {
    lines[name] = Json{{"forwards", sum.forwards}, {"backwards", sum.backwards}};
  }
  return {{"zones", zones}, {"lines", lines}};
}

}  // namespace shoal::watch

namespace shoal::mqtt {

SettingList settings_of(SinkOptions& options) {
  return {
      Setting("jsonl", options.jsonl, "Write a line of JSON for each frame to this file"),
      Setting("out", options.out,
              "Write frames with boxes: a video (.mp4, .mkv, .mov) or a folder of pictures")
          .also("output")
          .also("o"),
      Setting("clips", options.clips, "Write a video around each event into this folder"),
      Setting("mqtt", options.broker,
              "Publish counts and events to a broker: "
              "mqtt://[USER:PASSWORD@]HOST[:PORT][/PREFIX], or mqtts://")
          .parsed_by(parse_broker),
      Setting("zone", options.zones,
              "A zone: NAME=x,y,x,y,x,y, its corners in pixels, or as shares of the image where "
              "none is above 1")
          .parsed_by(watch::parse_zone),
      Setting("line", options.lines,
              "A line: NAME=x1,y1,x2,y2; forwards is from its left to its right")
          .parsed_by(watch::parse_line),
  };
}

}  // namespace shoal::mqtt

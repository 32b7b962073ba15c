#include "shoal/video/watch/output/watch_facts.h"

namespace shoal::watch {
namespace {

const char* direction_of(const Event& event) { return event.forwards ? "forwards" : "backwards"; }

}  // namespace

Json to_json(const Event& event) {
  Json json = {{"event", name_of(event.kind)}, {"id", event.id}, {"class", event.detection.label}};
  if (!event.place.empty()) json["place"] = event.place;
  if (event.kind == EventKind::kCrossed) json["direction"] = direction_of(event);
  if (event.kind == EventKind::kLeft || event.kind == EventKind::kVanished) {
    json["frames"] = event.frames;
    json["seconds"] = event.seconds;
  }
  return json;
}

Json to_json(const FrameAnswer& answer, const std::vector<Event>& events,
             const std::string& source) {
  Json boxes = Json::array();
  for (const Seen& one : answer.seen) {
    const detect::Box& box = one.detection.box;
    Json json = {{"class", one.detection.label},
                 {"score", one.detection.score},
                 {"x", box.left},
                 {"y", box.top},
                 {"w", box.width()},
                 {"h", box.height()}};
    if (one.id > 0) json["id"] = one.id;
    boxes.push_back(json);
  }
  Json json = {{"source", source},        {"frame", answer.frame},
               {"name", answer.name},     {"time_ms", static_cast<double>(answer.time_us) / 1e3},
               {"looked", answer.looked}, {"boxes", boxes}};
  for (const Event& event : events) json["events"].push_back(to_json(event));
  return json;
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

std::string text_of(const FrameAnswer& answer, const Annotation& what, const std::string& source) {
  std::string text;
  for (const Seen& one : answer.seen) {
    const detect::Box& box = one.detection.box;
    const auto whole = [](float x) { return fixed(double{x}, 0); };
    text += source + answer.name + ": " + what.class_name(one.detection.label) + ", " +
            fixed(double{one.detection.score}, 2) + ", at " + whole(box.left) + "," +
            whole(box.top) + ", " + whole(box.width()) + " x " + whole(box.height());
    text += one.id > 0 ? ", id " + std::to_string(one.id) + "\n" : "\n";
  }
  return text;
}

std::string text_of(const std::vector<Event>& events, const Annotation& what) {
  std::string text;
  for (const Event& one : events) {
    text += what.class_name(one.detection.label) + " " + std::to_string(one.id) + " " +
            std::string(name_of(one.kind));
    if (!one.place.empty()) text += " " + one.place;
    if (one.kind == EventKind::kCrossed) text += std::string(" ") + direction_of(one);
    text += one.seconds > 0 ? " after " + fixed(one.seconds, 1) + " s\n" : "\n";
  }
  return text;
}

}  // namespace shoal::watch

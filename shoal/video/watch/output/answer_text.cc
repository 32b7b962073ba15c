#include "shoal/video/watch/output/answer_text.h"

#include "shoal/base/text/number_text.h"

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

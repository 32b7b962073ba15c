#include "shoal/video/mqtt/reporter.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "shoal/base/text/json_text.h"

namespace shoal::mqtt {
namespace {

using watch::Event;
using watch::EventKind;

constexpr double kRefresh = 30;  // seconds between publications of what has not changed
constexpr const char* kExpire = "90";

std::string slug(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (plain || (!word.empty() && word.back() != '_')) word += plain ? c : '_';
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  return word;
}

// Of a URL what comes after the user, up to the query; of a file its name without the extension.
std::string_view telling_part(std::string_view source) {
  if (const size_t scheme = source.find("://"); scheme != std::string_view::npos) {
    source = source.substr(scheme + 3);
    source = source.substr(0, source.find_first_of("?#"));
    const size_t user = source.substr(0, source.find('/')).rfind('@');
    return user == std::string_view::npos ? source : source.substr(user + 1);
  }
  while (source.size() > 1 && source.ends_with('/')) source.remove_suffix(1);
  if (const size_t slash = source.rfind('/'); slash != std::string_view::npos) {
    source = source.substr(slash + 1);
  }
  const size_t dot = source.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? source : source.substr(0, dot);
}

template <class Texts>
std::string joined(const Texts& texts, std::string_view between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : std::string(between)) + text;
  return all;
}

std::string json_list(std::vector<std::string> texts) {
  for (std::string& text : texts) text = json_text(text);
  return "[" + joined(texts, ",") + "]";
}

}  // namespace

std::vector<std::string> camera_names(const std::vector<std::string>& sources) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string& source : sources) {
    std::string name = slug(telling_part(source));
    if (name.empty()) name = "camera";
    const std::string base = name;
    for (size_t i = 2; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    names.push_back(name);
  }
  return names;
}

Message Reporter::availability(bool online) const {
  return {options_.prefix + "/available", online ? "online" : "offline", /*retain=*/true, 1};
}

void Reporter::add(Sensors& sensors, size_t camera, const std::string& place,
                   const watch::Counts& counts, const std::string& direction) const {
  for (const auto& [label, count] : counts) {
    Sensor sensor{
        .path = {slug(options_.class_name(label))}, .total = !direction.empty(), .value = count};
    if (!place.empty()) sensor.path.insert(sensor.path.begin(), place);
    if (sensor.total) sensor.path.push_back(direction);
    sensors[options_.prefix + "/" + options_.cameras[camera] + "/" + joined(sensor.path, "/")] =
        sensor;
  }
}

Reporter::Sensors Reporter::sensors_of(size_t camera, const watch::Activity& activity) const {
  Sensors sensors;
  add(sensors, camera, "", activity.present(), "");
  for (size_t i = 0; i < options_.zones.size(); ++i) {
    add(sensors, camera, options_.zones[i].name, activity.present_in(i), "");
  }
  for (size_t i = 0; i < options_.lines.size(); ++i) {
    add(sensors, camera, options_.lines[i].name, activity.crossed(i, true), "forwards");
    add(sensors, camera, options_.lines[i].name, activity.crossed(i, false), "backwards");
  }
  return sensors;
}

Message Reporter::discovery(size_t camera, const std::string& topic, const Sensor& sensor) const {
  const std::string node = slug(options_.prefix) + "_" + options_.cameras[camera];
  const std::string object = joined(sensor.path, "_");
  const std::string payload =
      "{\"name\":" + json_text(joined(sensor.path, " ")) +
      ",\"unique_id\":" + json_text(node + "_" + object) + ",\"state_topic\":" + json_text(topic) +
      ",\"availability_topic\":" + json_text(availability(true).topic) +
      ",\"expire_after\":" + kExpire +
      ",\"state_class\":" + (sensor.total ? "\"total_increasing\"" : "\"measurement\"") +
      ",\"device\":{\"identifiers\":[" + json_text(node) +
      "],\"name\":" + json_text(options_.cameras[camera]) +
      ",\"manufacturer\":\"Shoal\",\"sw_version\":" + json_text(options_.version) + "}}";
  return {"homeassistant/sensor/" + node + "/" + object + "/config", payload, /*retain=*/true, 1};
}

std::string Reporter::object_json(size_t camera, const Known& known, double now) const {
  const detect::Detection& seen = known.last.detection;
  const auto number = [](float x) { return json_number(static_cast<double>(x)); };
  const std::string& name = options_.cameras[camera];
  return "{\"id\":" + json_text(name + "-" + std::to_string(known.last.id)) +
         ",\"camera\":" + json_text(name) + ",\"frame_time\":" + json_number(now) +
         ",\"label\":" + json_text(options_.class_name(seen.label)) +
         ",\"score\":" + number(seen.score) + ",\"top_score\":" + number(known.top_score) +
         ",\"start_time\":" + json_number(known.begin) +
         ",\"end_time\":" + (known.end > 0 ? json_number(known.end) : "null") + ",\"box\":[" +
         number(seen.box.left) + "," + number(seen.box.top) + "," + number(seen.box.right) + "," +
         number(seen.box.bottom) + "],\"area\":" + number(seen.box.width() * seen.box.height()) +
         ",\"current_zones\":" + json_list(known.zones) +
         ",\"entered_zones\":" + json_list(known.entered) + "}";
}

Message Reporter::event_message(size_t camera, const Event& event, double now) {
  const auto [at, is_new] = objects_.try_emplace({camera, event.id});
  Known& known = at->second;
  if (is_new) known = {.begin = now, .last = event};
  const std::string before = object_json(camera, known, now);
  known.last = event;
  known.top_score = std::max(known.top_score, event.detection.score);
  if (event.kind == EventKind::kLeft) std::erase(known.zones, event.place);
  if (event.kind == EventKind::kEntered) {
    known.zones.push_back(event.place);
    if (std::ranges::find(known.entered, event.place) == known.entered.end()) {
      known.entered.push_back(event.place);
    }
  }
  const bool ends = event.kind == EventKind::kVanished;
  if (ends) known.end = now;
  const std::string type = ends ? "end" : event.kind == EventKind::kAppeared ? "new" : "update";
  std::string payload = "{\"type\":\"" + type + "\",\"event\":\"" +
                        std::string(name_of(event.kind)) + "\",\"before\":" + before +
                        ",\"after\":" + object_json(camera, known, now);
  if (!event.place.empty()) payload += ",\"place\":" + json_text(event.place);
  if (event.kind == EventKind::kCrossed) {
    payload +=
        std::string(",\"direction\":\"") + (event.forwards ? "forwards" : "backwards") + "\"";
  }
  if (ends || event.kind == EventKind::kLeft) {
    payload += ",\"seconds\":" + json_number(event.seconds);
  }
  if (ends) objects_.erase(at);
  return {options_.prefix + "/events", payload + "}", /*retain=*/false, 1};
}

std::vector<Message> Reporter::report(size_t camera, const watch::Activity& activity,
                                      const std::vector<Event>& events, double now) {
  std::vector<Message> messages;
  for (const Event& event : events) messages.push_back(event_message(camera, event, now));
  Sensors& known = published_[camera];
  Sensors present = sensors_of(camera, activity);
  for (const auto& [topic, sensor] : known) {
    if (present.contains(topic)) continue;
    present[topic] = sensor;
    if (!sensor.total) present[topic].value = 0;
  }
  double& refreshed = refreshed_[camera];
  const bool due = now >= refreshed + kRefresh;
  if (due) refreshed = now;
  for (const auto& [topic, sensor] : present) {
    const auto before = known.find(topic);
    if (before == known.end()) messages.push_back(discovery(camera, topic, sensor));
    if (!due && before != known.end() && before->second.value == sensor.value) continue;
    messages.push_back({topic, std::to_string(sensor.value), /*retain=*/true, 0});
  }
  known = std::move(present);
  return messages;
}

}  // namespace shoal::mqtt

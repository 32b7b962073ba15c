// Reporter: publishes what happens in streams, in Frigate's topics, with Home Assistant's
// discovery. With the prefix "shoal", a camera "door", a zone "step" and a line "gate":
//
//   shoal/available                        online, offline
//   shoal/door/person                      how many are present
//   shoal/door/step/person                 how many are in the zone
//   shoal/door/gate/person/forwards        how many crossed the line so far; and backwards
//   shoal/events                           a JSON object: "type" is new, update or end;
//                                          "before" and "after": what is known of the object
//   homeassistant/sensor/shoal_door/person/config   how Home Assistant shows a count
//
// All but events are retained. A count is announced when its class is first seen, and published on
// change and twice a minute; Home Assistant takes an older one for unavailable, as after a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/video/mqtt/client.h"
#include "shoal/video/watch/places/activity.h"

#pragma GCC visibility push(default)

namespace shoal::mqtt {

// What is reported about. A value.
struct ReporterOptions {
  std::string prefix = "shoal";
  std::vector<std::string> cameras = {};  // their names, as camera_names() gives them
  std::function<std::string(int64_t label)> class_name = {};
  std::vector<watch::Zone> zones = {};
  std::vector<watch::Line> lines = {};
  std::string version = {};  // of the program
};

// Unique topic names from source names: the letters, digits, - and _ of a URL's host and path, or
// of a path's last part. Never a user or password.
std::vector<std::string> camera_names(const std::vector<std::string>& sources);

// Decides what to publish. A value. Thread-compatible.
class Reporter {
 public:
  // Nothing was seen yet. REQUIRES: options.class_name.
  explicit Reporter(ReporterOptions options) : options_(std::move(options)) {}

  // The first message, and the last one or the broker's last will.
  Message availability(bool online) const;

  // The messages after a frame of a camera, `now` seconds since 1970. REQUIRES: camera < cameras,
  // and the activity has the zones and lines of the options.
  std::vector<Message> report(size_t camera, const watch::Activity& activity,
                              const std::vector<watch::Event>& events, double now);

 private:
  // A count as it was published last.
  struct Sensor {
    std::vector<std::string> path = {};  // of the topic, after prefix and camera
    bool total = false;                  // it only grows
    size_t value = 0;
  };
  using Sensors = std::map<std::string, Sensor>;  // by topic
  // What is known of an object.
  struct Known {
    double begin = 0, end = 0;  // end: 0, while it is present
    float top_score = 0;
    watch::Event last = {};
    std::vector<std::string> zones = {}, entered = {};
  };

  Sensors sensors_of(size_t camera, const watch::Activity& activity) const;
  void add(Sensors& sensors, size_t camera, const std::string& place, const watch::Counts& counts,
           const std::string& direction) const;
  Message discovery(size_t camera, const std::string& topic, const Sensor& sensor) const;
  Message event_message(size_t camera, const watch::Event& event, double now);
  std::string object_json(size_t camera, const Known& known, double now) const;

  ReporterOptions options_;
  std::map<size_t, Sensors> published_;  // by camera
  std::map<size_t, double> refreshed_;   // when all counts of a camera were published
  std::map<std::pair<size_t, int64_t>, Known> objects_;  // by camera and id
};

}  // namespace shoal::mqtt

#pragma GCC visibility pop

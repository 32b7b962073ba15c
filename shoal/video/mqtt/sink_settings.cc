// Where answers go, by the names of these settings.
#include "shoal/video/mqtt/sinks.h"

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

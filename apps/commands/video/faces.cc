#include "apps/commands/video/faces.h"

#include "shoal/base/text/printable.h"

namespace shoal::faces {
namespace {

double percent(size_t part, size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

CascadeOptions FaceSettings::cascade() const {
  CascadeOptions options{.lessons = lessons};
  options.wanted.precision = agreement;
  return options;
}

SettingList network_settings(FaceSettings& s) {
  return {Setting("score", s.score, "The least score of a face").in(0, 1),
          Setting("exits", s.exits, "Exits of the embedding, which answer early").in(0, 8)};
}

SettingList database_settings(FaceSettings& s) {
  return {Setting("threshold", s.threshold,
                  "The squared distance up to which a face is somebody's; of a new file")
              .in(0, 4)};
}

SettingList exit_settings(FaceSettings& s) {
  return {
      Setting("lessons", s.lessons, "Faces from which exits learn how far to be trusted"),
      Setting("agreement", s.agreement,
              "Of early answers with those of the whole network, that lessons must show")
          .in(0.5, 0.9999),
  };
}

SettingList picture_settings(FaceSettings& s) {
  return {Setting("burst", s.burst, "Frames of each picture, each moved a little").in(1, 1000),
          Setting("seed", s.seed, "Of the order of pictures")};
}

std::vector<Facts> people_rows(const FaceDatabase& database) {
  std::vector<Facts> rows;
  for (const Person& one : database.people()) {
    rows.push_back(
        {{"name", one.name, "name", printable(one.name)}, {"faces", one.faces, "faces"}});
  }
  return rows;
}

Json to_json(const FaceDatabase& database) {
  return {{"people", list_of(people_rows(database))}, {"threshold", database.threshold()}};
}

Json to_json(const std::string& image, const FoundFace& face, const FaceAnswer& answer) {
  const detect::Box& box = face.detection.box;
  return {{"image", image},      {"person", answer.person}, {"distance", answer.distance},
          {"exit", answer.exit}, {"x", box.left},           {"y", box.top},
          {"w", box.width()},    {"h", box.height()},       {"score", face.detection.score}};
}

std::string text_of(const std::string& image, const FoundFace& face, const FaceAnswer& answer) {
  const detect::Box& box = face.detection.box;
  const auto whole = [](float x) { return fixed(double{x}, 0); };
  return image + ": " + (answer.person ? printable(*answer.person) : "unknown") + ", distance " +
         fixed(answer.distance, 3) + ", at " + whole(box.left) + "," + whole(box.top) + ", " +
         whole(box.width()) + " x " + whole(box.height()) + "\n";
}

Json to_json(const CascadeFigures& figures, const std::vector<double>& thresholds) {
  return {{"answers", figures.answers}, {"thresholds", thresholds},
          {"lessons", figures.lessons}, {"checked", figures.checked},
          {"wrong", figures.wrong},     {"macs_share", 1 / figures.speedup()}};
}

Json to_json(const Identification& result) {
  return {{"people", result.people},
          {"faces", result.faces},
          {"identified", percent(result.right, result.faces)},
          {"identified_alone", percent(result.right_alone, result.faces)},
          {"cascade", to_json(result.figures, result.thresholds)}};
}

Json to_json(const std::vector<FacePair>& pairs, double threshold) {
  constexpr size_t kParts = 10;  // as LFW is cross-validated
  return {{"pairs", pairs.size()},
          {"accuracy", 100 * accuracy_at(pairs, threshold)},
          {"cross_validated", 100 * cross_validated(pairs, kParts)},
          {"best_threshold", best_threshold(pairs)}};
}

}  // namespace shoal::faces

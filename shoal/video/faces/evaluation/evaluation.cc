#include "shoal/video/faces/evaluation/evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "shoal/base/files/file.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/video/faces/recognition/align.h"

namespace shoal::faces {
namespace {

namespace fs = std::filesystem;

// The same face as successive frames of a video would show it: moved, turned and scaled a little.
detect::FacePoints moved(detect::FacePoints points, const detect::Box& box, std::mt19937& rng) {
  std::normal_distribution<float> normal(0, 0.01F * box.width());
  for (detect::Point& p : points) p = {p.x + normal(rng), p.y + normal(rng)};
  return points;
}

Status of_file(const fs::path& file, const Status& status) {
  return Status(status.code(), file.string() + ": " + std::string(status.message()));
}

struct Shown {
  std::string person;
  fs::path file;
};

Status show(const FaceReader& reader, const Shown& shown, uint64_t burst,
            const FaceDatabase& database, Recogniser& recogniser, std::mt19937& rng,
            Identification& counts) {
  SHOAL_ASSIGN(const Tensor image, read_image(shown.file));
  const auto face = reader.main_face(image);
  if (!face.ok()) return of_file(shown.file, face.status());
  const detect::Detection& detection = face->detection;
  const detect::FacePoints points =
      detection.points ? *detection.points : usual_points(detection.box);
  for (uint64_t frame = 0; frame < burst; ++frame) {
    const Tensor aligned =
        burst == 1 ? face->image
                   : align(image, moved(points, detection.box, rng), reader.embedder->side())
                         .value_or(face->image);
    SHOAL_ASSIGN(const Embedding alone, reader.embedder->embed(aligned));
    const auto match = database.who(alone);
    SHOAL_ASSIGN(const FaceAnswer answer, recogniser.who(aligned));
    ++counts.faces;
    counts.right += answer.person == shown.person ? 1 : 0;
    counts.right_alone += match && match->person == shown.person ? 1 : 0;
  }
  return {};
}

}  // namespace

double accuracy_at(std::span<const FacePair> pairs, double threshold) {
  const auto right = std::ranges::count_if(pairs, [&](const FacePair& face_pair) {
    return (face_pair.distance <= threshold) == face_pair.same;
  });
  return pairs.empty() ? 0 : static_cast<double>(right) / static_cast<double>(pairs.size());
}

double best_threshold(std::span<const FacePair> pairs) {
  std::vector<FacePair> sorted(pairs.begin(), pairs.end());
  std::ranges::sort(sorted, {}, &FacePair::distance);
  // Right answers with a threshold after the first i pairs: those of one person before, of two
  // after.
  auto right = std::ranges::count(sorted, false, &FacePair::same);
  auto most = right;
  double best = sorted.empty() ? 0 : sorted.front().distance / 2;
  for (size_t i = 0; i < sorted.size(); ++i) {
    right += sorted[i].same ? 1 : -1;
    const bool last = i + 1 == sorted.size();
    const double next = last ? sorted[i].distance : sorted[i + 1].distance;
    if (right <= most || (!last && next == sorted[i].distance)) continue;
    most = right;
    best = (sorted[i].distance + next) / 2;
  }
  return best;
}

double cross_validated(std::span<const FacePair> pairs, size_t folds) {
  SHOAL_CHECK(folds > 1);
  double sum = 0;
  size_t used = 0;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<FacePair> chosen_on, tested;
    std::array<size_t, 2> seen = {0, 0};  // of each kind
    for (const FacePair& face_pair : pairs) {
      (seen[face_pair.same ? 1 : 0]++ % folds == fold ? tested : chosen_on).push_back(face_pair);
    }
    if (tested.empty()) continue;
    sum += accuracy_at(tested, best_threshold(chosen_on));
    ++used;
  }
  return used == 0 ? 0 : sum / static_cast<double>(used);
}

Result<std::vector<FoundFace>> FaceReader::faces(const Tensor& image) const {
  return find_faces(detector, image, embedder->side(), least_score);
}

Result<FoundFace> FaceReader::main_face(const Tensor& image) const {
  SHOAL_ASSIGN(std::vector<FoundFace> found, faces(image));
  if (found.empty()) return Status(Code::kNotFound, "there is no face");
  const auto off = [&](const FoundFace& face) {
    const detect::Box& box = face.detection.box;
    return std::hypot((box.left + box.right - static_cast<float>(image.shape()[1])) / 2,
                      (box.top + box.bottom - static_cast<float>(image.shape()[0])) / 2);
  };
  return *std::ranges::min_element(found, {}, off);
}

Result<Embedding> FaceReader::embedding_of(const fs::path& file) const {
  SHOAL_ASSIGN(const Tensor image, read_image(file));
  const auto face = main_face(image);
  if (!face.ok()) return of_file(file, face.status());
  return embedder->embed(face->image);
}

Result<std::vector<NamedPair>> parse_pairs(std::string_view text) {
  std::vector<NamedPair> pairs;
  bool is_header = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(is_header, false) || line.empty()) continue;
    const size_t first = line.find(','), second = line.find(',', std::min(first, line.size()) + 1);
    const std::string_view same = second < line.size() ? line.substr(second + 1) : "";
    if (first == 0 || second == first + 1 || (same != "0" && same != "1")) {
      return Status(Code::kCorrupt, "no pair: " + printable(std::string(line)));
    }
    pairs.push_back({std::string(line.substr(0, first)),
                     std::string(line.substr(first + 1, second - first - 1)), same == "1"});
  }
  return pairs;
}

Result<std::vector<FacePair>> measure_pairs(const FaceReader& reader,
                                            const std::vector<NamedPair>& pairs,
                                            const fs::path& folder) {
  std::map<std::string, Embedding> known;
  const auto embedding = [&](const std::string& name) -> Result<const Embedding*> {
    const auto at = known.find(name);
    if (at != known.end()) return &at->second;
    SHOAL_ASSIGN(Embedding result, reader.embedding_of(folder / name));
    return &(known[name] = std::move(result));
  };
  std::vector<FacePair> measured;
  for (const NamedPair& pair : pairs) {
    SHOAL_ASSIGN(const Embedding* a, embedding(pair.a));
    SHOAL_ASSIGN(const Embedding* b, embedding(pair.b));
    measured.push_back({distance(*a, *b), pair.same});
  }
  return measured;
}

Result<std::map<std::string, std::vector<fs::path>>> people_in(const fs::path& folder) {
  SHOAL_ASSIGN(auto files, list_folder(folder));
  std::ranges::sort(files);
  std::map<std::string, std::vector<fs::path>> people;
  for (const fs::path& file : files) {
    const std::string stem = file.stem().string();
    const size_t end = stem.rfind('_');
    if (is_image_file(file) && end != std::string::npos) {
      people[stem.substr(0, end)].push_back(file);
    }
  }
  return people;
}

Result<Identification> identify(const FaceReader& reader, const fs::path& folder,
                                FaceDatabase& database, const IdentificationOptions& options) {
  SHOAL_ASSIGN(const auto people, people_in(folder));
  std::vector<Shown> shown;
  Identification counts;
  for (const auto& [person, files] : people) {
    if (files.size() < 2) continue;
    SHOAL_ASSIGN(const Embedding embedding, reader.embedding_of(files[0]));
    SHOAL_TRY(database.enrol(person, embedding));
    ++counts.people;
    for (size_t i = 1; i < files.size(); ++i) shown.push_back({person, files[i]});
  }
  std::mt19937 rng(static_cast<uint32_t>(options.seed));
  std::ranges::shuffle(shown, rng);
  Recogniser recogniser(*reader.embedder, database, options.cascade);
  for (size_t i = 0; i < shown.size(); ++i) {
    SHOAL_TRY(show(reader, shown[i], options.burst, database, recogniser, rng, counts));
    if (options.progress) options.progress(i + 1, shown.size());
  }
  counts.figures = recogniser.cascade().figures();
  counts.thresholds = recogniser.cascade().thresholds();
  return counts;
}

}  // namespace shoal::faces

#include "shoal/video/faces/recognition/recogniser.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "shoal/engine/inputs/image.h"
#include "shoal/video/faces/recognition/align.h"

namespace shoal::faces {
namespace {

// Stages of one network: the last stage needs all of those before it. Each exit compares its
// embedding with those of all recent people.
CascadeOptions with_costs(const Embedder& embedder, CascadeOptions options) {
  const auto& macs = embedder.stage_macs();
  options.costs = {};
  for (size_t i = 0; i + 1 < macs.size(); ++i) {
    options.costs.exits.push_back(macs[i] +
                                  static_cast<int64_t>(options.recent.most) * embedder.dims()[i]);
  }
  options.costs.oracle = macs.back();
  options.costs.alone = std::accumulate(macs.begin(), macs.end(), int64_t{0});
  return options;
}

}  // namespace

Result<std::vector<FoundFace>> find_faces(detect::Detector* detector, const Tensor& image,
                                          int64_t side, float least_score) {
  std::vector<FoundFace> faces;
  if (detector == nullptr) {
    const auto height = static_cast<float>(image.shape()[0]),
               width = static_cast<float>(image.shape()[1]);
    faces.push_back({{.score = 1, .box = {0, 0, width, height}}, resize_image(image, side, side)});
    return faces;
  }
  SHOAL_ASSIGN(std::vector<detect::Detection> detections,
               detector->find(image, {.least_score = least_score, .most_overlap = 0.4F}));
  for (detect::Detection& detection : detections) {
    auto aligned =
        align(image, detection.points ? *detection.points : usual_points(detection.box), side);
    if (aligned) faces.push_back({std::move(detection), *std::move(aligned)});
  }
  return faces;
}

Recogniser::Recogniser(const Embedder& embedder, const FaceDatabase& database,
                       CascadeOptions options)
    : embedder_(embedder),
      database_(database),
      cascade_(with_costs(embedder, std::move(options))) {}

Result<FaceAnswer> Recogniser::who(const Tensor& face) {
  SHOAL_ASSIGN(FacePass pass, embedder_.start(face));
  double away = 0;
  const auto exit = [&](size_t) { return pass.next(); };
  const auto oracle = [&]() -> Result<std::optional<std::string>> {
    Embedding last;
    while (!pass.done()) {
      SHOAL_ASSIGN(last, pass.next());
    }
    const auto match = database_.who(last);
    if (!match) return std::optional<std::string>();
    away = match->distance;
    return std::optional(match->person);
  };
  SHOAL_ASSIGN(FaceAnswer answer, cascade_.recognise(exit, oracle));
  if (answer.exit == cascade_.figures().answers.size() - 1) answer.distance = away;
  return answer;
}

}  // namespace shoal::faces

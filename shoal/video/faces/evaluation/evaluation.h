// Evaluates how well an embedding tells people apart: on pairs of pictures, as for LFW, and on a
// cast enrolled by one picture each and shown by the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/faces/recognition/cascade.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/embedder.h"
#include "shoal/video/faces/recognition/recogniser.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// Pairs of faces, of one person or of two, for a threshold on distance, as for LFW.

// Two faces.
struct FacePair {
  double distance = 0;  // squared
  bool same = false;    // in truth
};

// The share of pairs that are rightly told: the same person up to the threshold. 0 of none.
double accuracy_at(std::span<const FacePair> pairs, double threshold);

// The threshold with the highest accuracy, in the middle between two distances; of several the
// lowest. 0 for no pairs.
double best_threshold(std::span<const FacePair> pairs);

// Cross-validation: the mean accuracy of `folds` parts, each with the best threshold of the others.
// Pair i is in part i % folds, of its kind. REQUIRES: folds > 1.
double cross_validated(std::span<const FacePair> pairs, size_t folds);

// Finds faces in pictures. REQUIRES: what it points to outlives it. Thread-compatible.
struct FaceReader {
  detect::Detector* detector = nullptr;  // none: a picture is an aligned face
  const Embedder* embedder = nullptr;
  float least_score = 0.6F;

  // The faces in an image, the surest first. Fails as the detector does.
  Result<std::vector<FoundFace>> faces(const Tensor& image) const;
  // The face nearest to the middle, since others may stand at the edge. kNotFound without a face.
  Result<FoundFace> main_face(const Tensor& image) const;
  // The embedding of the main face of a file. Fails as above, and as reading does.
  Result<Embedding> embedding_of(const std::filesystem::path& file) const;
};

// Two pictures by name.
struct NamedPair {
  std::string a, b;
  bool same = false;  // they show one person

  friend bool operator==(const NamedPair&, const NamedPair&) = default;
};

// Lines "a,b,same" after a header, as of LFW; `same` is 0 or 1. kCorrupt for any other line.
Result<std::vector<NamedPair>> parse_pairs(std::string_view text);

// The distances of pairs of pictures in a folder; each picture is embedded once. Fails as the
// reader does.
Result<std::vector<FacePair>> measure_pairs(const FaceReader& reader,
                                            const std::vector<NamedPair>& pairs,
                                            const std::filesystem::path& folder);

// The pictures NAME_NUMBER.jpg (or .png) of a folder by NAME, in order.
Result<std::map<std::string, std::vector<std::filesystem::path>>> people_in(
    const std::filesystem::path& folder);

// How to identify. A value.
struct IdentificationOptions {
  CascadeOptions cascade = {};
  uint64_t burst = 1;  // frames of each picture, as a video would show them: each moved a little
  uint64_t seed = 1;   // of the order of pictures
  // Called after each picture with how many of how many are done.
  std::function<void(size_t, size_t)> progress = {};
};

// What became of it.
struct Identification {
  size_t people = 0, faces = 0;
  size_t right = 0;        // answers of the cascade
  size_t right_alone = 0;  // of the whole network
  CascadeFigures figures = {};
  std::vector<double> thresholds = {};  // of the cascade's exits, in the end
};

// Enrols everybody with two pictures or more by the first, and shows the others in random order.
// Fails as the reader and the database do.
Result<Identification> identify(const FaceReader& reader, const std::filesystem::path& folder,
                                FaceDatabase& database, const IdentificationOptions& options = {});

}  // namespace shoal::faces

#pragma GCC visibility pop

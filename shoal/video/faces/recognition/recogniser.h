// Recogniser: identifies the faces in an image. A detector finds them; they are aligned, embedded
// and looked up among the enrolled people; early exits may answer (cascade.h).
//
//   SHOAL_ASSIGN(faces::Embedder embedder, faces::Embedder::open(model, *device));
//   SHOAL_ASSIGN(const faces::FaceDatabase database, faces::load_database("family.faces"));
//   faces::Recogniser recogniser(embedder, database);
//   SHOAL_ASSIGN(const auto found, faces::find_faces(&detector, image, embedder.side()));
//   for (const faces::FoundFace& face : found) recogniser.who(face.image);
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/faces/recognition/cascade.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/embedder.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// A face in an image.
struct FoundFace {
  detect::Detection detection = {};
  Tensor image;  // aligned: u8 [side, side, 3]
};

// The faces in an image, the surest first. Without a detector the image is one aligned face. Fails
// as the detector does.
Result<std::vector<FoundFace>> find_faces(detect::Detector* detector, const Tensor& image,
                                          int64_t side, float least_score = 0.6F);

// Thread-compatible.
class Recogniser {
 public:
  // `options.costs` are the embedder's. REQUIRES: both outlive the recogniser; the database does
  // not change.
  Recogniser(const Embedder& embedder, const FaceDatabase& database, CascadeOptions options = {});

  // Who an aligned face is. Fails as the device does.
  Result<FaceAnswer> who(const Tensor& face);

  // What the exits did.
  const Cascade& cascade() const { return cascade_; }

 private:
  const Embedder& embedder_;
  const FaceDatabase& database_;
  Cascade cascade_;
};

}  // namespace shoal::faces

#pragma GCC visibility pop

// Alignment: a face brought to where the embedding network expects eyes, nose and mouth.
//
// The five points of a face go to those of a template by the similarity (turn, scale, shift)
//
//   x' = a x - b y + c,  y' = b x + a y + d
//
// of least squares. With both sets taken relative to their means, n = sum(x^2 + y^2):
//
//   a = sum(x x' + y y') / n,  b = sum(x y' - y x') / n
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// A map of the plane that keeps shapes. A value.
struct Similarity {
  double a = 1, b = 0, c = 0, d = 0;

  // Where it takes a point.
  detect::Point operator()(const detect::Point& p) const;
  // The map back. REQUIRES: a or b is not 0.
  Similarity inverse() const;
};

// The similarity from one set of points to the other; nullopt if the first ones all coincide or
// some are not finite.
std::optional<Similarity> similarity(const detect::FacePoints& from, const detect::FacePoints& to);

// The points of the template that ArcFace's and MobileFaceNet's images have, for images of this
// side (112 originally).
detect::FacePoints face_template(int64_t side);

// Where the points of a face usually are in its box: for detectors that give none.
detect::FacePoints usual_points(const detect::Box& box);

// The face as u8 [side, side, 3], bilinear, black beyond the image; nullopt if the points give no
// similarity. REQUIRES: u8 [h, w, 1 or 3] with elements.
std::optional<Tensor> align(const Tensor& image, const detect::FacePoints& points, int64_t side);

}  // namespace shoal::faces

#pragma GCC visibility pop

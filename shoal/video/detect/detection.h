// Detections: boxes with a class and a score, and which of them are of one object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::detect {

// Edges in pixels of the image, or in any one unit.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;

  // Its size.
  float width() const { return right - left; }
  float height() const { return bottom - top; }

  friend bool operator==(const Box&, const Box&) = default;
};

// Intersection over union; 0 for boxes without area.
float overlap(const Box& a, const Box& b);

// A place in pixels of the image.
struct Point {
  float x = 0, y = 0;

  friend bool operator==(const Point&, const Point&) = default;
};
// Eyes, nose, corners of the mouth.
using FacePoints = std::array<Point, 5>;

// An object that a network found.
struct Detection {
  int64_t label = 0;
  float score = 0;
  Box box = {};
  std::optional<FacePoints> points = {};  // from detectors of faces that give them

  friend bool operator==(const Detection&, const Detection&) = default;
};

// What to keep of all that a network says.
struct Suppression {
  float least_score = 0.25F;
  float most_overlap = 0.65F;  // with a better one of the same class
  size_t candidates = 1000;    // only the best n are considered
  size_t most = 300;           // of an image
};

// The detections that no better one of their class overlaps by more, the best first; of equal
// scores the first. Scores that are NaN are dropped. Pure.
std::vector<Detection> suppress(std::vector<Detection> all, const Suppression& suppression);

}  // namespace shoal::detect

#pragma GCC visibility pop

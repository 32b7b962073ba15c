// Draws answers into images: boxes, what they are, places; with a font of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"
#include "shoal/video/watch/places/activity.h"
#include "shoal/video/watch/run/watch.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// Red, green, blue.
using Colour = std::array<uint8_t, 3>;

// A colour for a number, such as an identity: bright, and another than that of numbers near it.
Colour colour_of(int64_t number);

// A line two pixels wide, clipped to the image, as all drawing here. REQUIRES, here and below: u8
// [h, w, 3], not read by another thread meanwhile.
void draw_line(Tensor& image, const detect::Point& from, const detect::Point& to,
               const Colour& colour);

// The edges of a box, two pixels wide; nothing for an empty box.
void draw_box(Tensor& image, const detect::Box& box, const Colour& colour);

// Letters of 5 x 7 points in cells of 6 x 9, each point `scale` pixels wide, on a ground of the
// colour, in black or white. Small letters are shown as capitals, unknown ones as a question mark.
// REQUIRES: scale > 0
void draw_text(Tensor& image, int64_t left, int64_t top, std::string_view text, int64_t scale,
               const Colour& colour);

// What to draw besides boxes.
struct Annotation {
  std::function<std::string(int64_t label)> class_name = {};  // none: the number
  std::vector<Zone> zones = {};
  std::vector<Line> lines = {};
};

// A copy of the answer's image with its boxes, each with its class, its identity and its score.
// REQUIRES: answer.image is u8 [h, w, 3].
Tensor annotate(const FrameAnswer& answer, const Annotation& what);

}  // namespace shoal::watch

#pragma GCC visibility pop

// Motion of a box's content from one image to the next, by block matching.
//
// The block is the upper middle of the box: a person's upper body, with little background and no
// legs. On means of green over squares, whose side grows with the box, the displacement d has the
// least
//
//   mean over p in the block of |now(p + d) - then(p)| + |d - guess| / 8
//
// where the last term, in grey levels per square, holds flat areas in place. A parabola through the
// least and its neighbours gives fractions of a square.
#pragma once

#include <optional>

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::track {

// In pixels, from `then` to `now`, which are u8 [h, w, 3]; `guess` is where the search begins.
// nullopt if images differ in size or too little of the box is inside them. Pure.
std::optional<detect::Point> box_motion(const Tensor& then, const Tensor& now,
                                        const detect::Box& box, const detect::Point& guess = {});

}  // namespace shoal::track

#pragma GCC visibility pop

// Motion of a box: how far what it shows has moved from one image to the next, by block matching.
//
// The block is the upper middle of the box: of a person the upper body, with few pixels of the
// background, which does not move, and none of the legs, which move by themselves. On means of
// green over squares, whose side grows with the box, the displacement d is looked for with the
// least
//
//   mean over p in the block of |now(p + d) - then(p)| + |d - guess| / 8
//
// where the last term, in levels of grey for each square, keeps what shows nothing where it is
// expected. A parabola through the least and what is beside it gives fractions of a square.
#pragma once

#include <optional>

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::track {

// In pixels, from `then` to `now`, which are u8 [h, w, 3]; `guess` is where the search begins.
// Nothing where images differ in size or too little of the box is inside them. Pure.
std::optional<detect::Point> box_motion(const Tensor& then, const Tensor& now,
                                        const detect::Box& box, const detect::Point& guess = {});

}  // namespace shoal::track

#pragma GCC visibility pop

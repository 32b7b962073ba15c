// Augmentation as a function of an image and a random stream. Crop keeps the aspect ratio: one
// scale s, uniform in [crop, 1), for both sides, and a window uniform among those that fit. Shift
// is uniform in [-shift, shift] per axis. A flip has probability 1/2. Noise is normal, per element,
// and clamped.
//
// Images stay u8 between the steps, as photographs are.
#include "shoal/train/data/augment_image.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/engine/inputs/image.h"

namespace shoal {
namespace {

// One stream for each thing that is drawn, so that a flip is the same with and without noise.
enum Draw : uint64_t { kCrop, kShift, kFlip, kNoise };

// Uniform in [0, 1).
double share(const RandomStream& random, uint64_t i) {
  // 53 random bits, all that the mantissa of a double has.
  return static_cast<double>(random[i] >> 11) * 0x1p-53;
}

Tensor cropped(const Tensor& image, double least, RandomStream random) {
  const int64_t h = image.shape()[0], w = image.shape()[1];
  const double scale = least + (1 - least) * share(random, 0);
  const auto side = [&](int64_t whole) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(whole) * scale), 1, whole);
  };
  const int64_t rows = side(h), columns = side(w);
  const auto top = static_cast<int64_t>(random.below(static_cast<uint64_t>(h - rows + 1), 1));
  const auto left = static_cast<int64_t>(random.below(static_cast<uint64_t>(w - columns + 1), 2));
  const Region window{{top, left, 0}, {top + rows, left + columns, image.shape()[2]}};
  return resize_image(crop(image, window), h, w);
}

Tensor shifted(const Tensor& image, int64_t most, RandomStream random) {
  const auto draw = [&](uint64_t i) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(2 * most + 1), i)) - most;
  };
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  // A shift beyond the image leaves black, like one of its full size.
  const int64_t down = std::clamp(draw(0), -h, h), right = std::clamp(draw(1), -w, w);
  const Region from{{std::max<int64_t>(-down, 0), std::max<int64_t>(-right, 0), 0},
                    {std::min(h - down, h), std::min(w - right, w), c}};
  Tensor result(image.type());
  if (from.shape().count() == 0) return result;
  const int64_t top = from.begin[0] + down, left = from.begin[1] + right;
  paste(crop(image, from), {{top, left, 0}, {from.end[0] + down, from.end[1] + right, c}}, result);
  return result;
}

Tensor flipped(const Tensor& image) {
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  Tensor result(image.type());
  const uint8_t* from = image.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      std::copy_n(from + (y * w + w - 1 - x) * c, c, to + (y * w + x) * c);
    }
  }
  return result;
}

// Noise rounds to nearest: truncation would darken the image by half a level.
Tensor noisy(const Tensor& image, double deviation, RandomStream random) {
  Tensor result(image.type());
  const auto from = image.data<uint8_t>();
  std::vector<float> noise(from.size());
  fill_normal(noise, random, deviation * 255);
  for (size_t i = 0; i < from.size(); ++i) {
    const float sum = std::nearbyint(static_cast<float>(from[i]) + noise[i]);
    result.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(sum, 0.0f, 255.0f));
  }
  return result;
}

}  // namespace

Tensor augment(const Tensor& image, const Augment& how, RandomStream random) {
  Tensor result = image;
  if (how.crop < 1) result = cropped(result, how.crop, random.child(kCrop));
  if (how.shift > 0) result = shifted(result, how.shift, random.child(kShift));
  if (how.flip && random.child(kFlip).below(2, 0) == 1) result = flipped(result);
  if (how.noise > 0) result = noisy(result, how.noise, random.child(kNoise));
  return result;
}

}  // namespace shoal

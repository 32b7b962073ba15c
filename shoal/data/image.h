// Images: JPEG and PNG files as arrays, and what is done to them before a network sees them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

// u8 [height, width, channels], channels 1 (grey) or 3 (RGB).
Result<Tensor> read_image(const std::filesystem::path& path);
Result<Tensor> parse_image(std::span<const std::byte> bytes);

// What happens between a picture and a network's input, in this order.
struct Preprocess {
  int64_t resize = 0;            // the short side becomes this, bilinear; 0: as it is
  int64_t crop = 0;              // the centre square of this side; 0: no crop
  bool stretch = false;          // bring it to the network's size whatever its shape
  int64_t channels = 0;          // 1 or 3; 0: as the picture
  std::vector<float> mean = {};  // after division by 255; one per channel, or one for all
  std::vector<float> std = {};
  bool scale = true;  // divide by 255 first
  bool bgr = false;   // channel order of the network
  bool nhwc = false;  // layout of the network
};

// f32 [1, c, h, w], or [1, h, w, c] if the network wants it so. `height` and `width` are what the
// network takes, 0 where it takes any size.
Result<Tensor> preprocess(const Tensor& image, const Preprocess& how, int64_t height,
                          int64_t width);

// Bilinear with half-pixel centres; when shrinking, every source pixel counts (as Pillow does).
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

}  // namespace shoal

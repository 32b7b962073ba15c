// Images: JPEG and PNG files as arrays, and their preprocessing. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The image in a file: u8 [height, width, channels], channels 1 (grey) or 3 (RGB). kNotFound if
// there is no file, kCorrupt if it is no whole image, kUnsupported if it is neither JPEG nor PNG.
// An image of more than 32 megapixels needs a file of at least one byte per 256 pixels.
Result<Tensor> read_image(const std::filesystem::path& path);
// The same for a file in memory.
Result<Tensor> parse_image(std::span<const std::byte> bytes);

// Whether a file's extension is that of an image: .jpg, .jpeg or .png.
bool is_image_file(const std::filesystem::path& path);

// The steps between an image and a network's input, in this order. A value.
struct Preprocess {
  int64_t resize = 0;            // length of the short side, bilinear; 0: unchanged
  int64_t crop = 0;              // the centre square of this side; 0: no crop
  bool stretch = false;          // resize to the network's size, ignoring the aspect ratio
  int64_t channels = 0;          // 1 or 3; 0: as the image
  std::vector<float> mean = {};  // after division by 255; one per channel, or one for all
  std::vector<float> std = {};   // divisor after the mean is subtracted; as many as of mean
  bool scale = true;             // divide by 255 first
  bool bgr = false;              // channel order of the network
  bool nhwc = false;             // layout of the network
};

// The settings that models of a kind were trained with: imagenet, digits or yolo. nullopt for
// another name.
std::optional<Preprocess> find_preset(std::string_view name);

// An image as u8 [h, w, c] becomes f32 [1, c, h, w], or [1, h, w, c] if the network wants it so.
// `height` and `width` are the network's, 0 for any size. kInvalidArgument if the image does not
// fit: neither resized nor stretched, too long once resized, or another number of means than of
// channels. REQUIRES: the image is u8 of rank 3, as read_image gives it.
Result<Tensor> preprocess(const Tensor& image, const Preprocess& how, int64_t height,
                          int64_t width);

// Preprocesses an image for an input of these dimensions; a dimension below 0 is open. Channels and
// size are the input's, if declared, unless `how` has them. An input of four dimensions is [n, c,
// h, w], or [n, h, w, c] if only its last dimension can be channels. An input of two has one row
// per image. Fails as preprocess() does. REQUIRES: as preprocess().
Result<Tensor> image_for_input(const Tensor& image, std::span<const int64_t> dims, Preprocess how);

// An image in another size. Bilinear with half-pixel centres; when shrinking, every source pixel
// counts (as Pillow does). REQUIRES: u8 [h, w, c] with elements; height and width above 0.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

}  // namespace shoal

#pragma GCC visibility pop

// Images: JPEG and PNG files as arrays, and what is done to them before a network sees them. All
// functions may be called from several threads at once.
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
// An image of more than 32 megapixels needs a file of a byte for 256 pixels.
Result<Tensor> read_image(const std::filesystem::path& path);
// The same for a file in memory.
Result<Tensor> parse_image(std::span<const std::byte> bytes);

// Whether a file's extension is that of an image: .jpg, .jpeg or .png.
bool is_image_file(const std::filesystem::path& path);

// The steps between an image and a network's input, in this order. A value.
struct Preprocess {
  int64_t resize = 0;            // the short side becomes this, bilinear; 0: as it is
  int64_t crop = 0;              // the centre square of this side; 0: no crop
  bool stretch = false;          // bring it to the network's size whatever its shape
  int64_t channels = 0;          // 1 or 3; 0: as the image
  std::vector<float> mean = {};  // after division by 255; one per channel, or one for all
  std::vector<float> std = {};   // divides what is left after the mean; as many as of mean
  bool scale = true;             // divide by 255 first
  bool bgr = false;              // channel order of the network
  bool nhwc = false;             // layout of the network
};

// The settings that models of a kind were trained with: imagenet, digits or yolo. Nothing for
// another name.
std::optional<Preprocess> find_preset(std::string_view name);

// An image as u8 [h, w, c] becomes f32 [1, c, h, w], or [1, h, w, c] if the network wants it so.
// `height` and `width` are what the network takes, 0 where it takes any size. kInvalidArgument
// where the image cannot be made to fit: neither resized nor stretched, too long once resized, or
// with another number of means than of channels. REQUIRES: the image is u8 of rank 3, as read_image
// gives it.
Result<Tensor> preprocess(const Tensor& image, const Preprocess& how, int64_t height,
                          int64_t width);

// An image as an input of these dimensions takes it; a dimension below 0 is open. Channels and size
// are those of the input where it declares them and `how` does not say otherwise. An input of four
// dimensions is [n, c, h, w], or [n, h, w, c] where only its last dimension can be channels. An
// input of two takes each image as one row. Fails as preprocess() does. REQUIRES: as preprocess().
Result<Tensor> image_for_input(const Tensor& image, std::span<const int64_t> dims, Preprocess how);

// An image in another size. Bilinear with half-pixel centres; when shrinking, every source pixel
// counts (as Pillow does). REQUIRES: u8 [h, w, c] with elements; height and width above 0.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

}  // namespace shoal

#pragma GCC visibility pop

// Preprocessing of images. After resizing (resize.cc) and cutting, y = (x / 255 - mean) / std for
// each channel.
#include <algorithm>
#include <cmath>

#include "shoal/engine/inputs/image.h"

namespace shoal {
namespace {

Tensor centre_crop(const Tensor& image, int64_t side) {
  const int64_t h = image.shape()[0], w = image.shape()[1];
  const int64_t top = (h - side) / 2, left = (w - side) / 2;
  return crop(image, {{top, left, 0}, {top + side, left + side, image.shape()[2]}});
}

Tensor with_channels(const Tensor& image, int64_t channels) {
  const Shape& shape = image.shape();
  if (channels == 0 || shape[2] == channels) return image;
  Tensor result({DType::kU8, {shape[0], shape[1], channels}});
  const uint8_t* from = image.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    if (channels == 3) {
      std::fill_n(to + i * 3, 3, from[i]);
    } else {  // ITU-R 601 luma
      const uint8_t* rgb = from + i * 3;
      const float grey = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
      to[i] = static_cast<uint8_t>(std::clamp(std::nearbyint(grey), 0.0f, 255.0f));
    }
  }
  return result;
}

float per_channel(const std::vector<float>& values, int64_t channel, float fallback) {
  if (values.empty()) return fallback;
  return values[std::min(static_cast<size_t>(channel), values.size() - 1)];
}

constexpr int64_t kMostPixels = 1 << 14;  // of a side: a larger one is a mistake
// Of the long side, which follows from the aspect ratio. No image that is read has a longer one.
constexpr int64_t kMostLong = 1 << 15;

// Images come from any file; channels beyond 1 and 3 have no conversion.
Status check_image(const Tensor& image, const Preprocess& how) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kU8 || shape.rank() != 3 || shape[0] < 1 || shape[1] < 1) {
    return invalid("an image is u8 [height, width, channels], not " + to_string(image.type()));
  }
  const bool convertible =
      (shape[2] == 1 || shape[2] == 3) && (how.channels == 1 || how.channels == 3);
  if (how.channels == 0 || shape[2] == how.channels || convertible) return {};
  return invalid("an image of " + std::to_string(shape[2]) + " channels cannot have " +
                 std::to_string(how.channels));
}

Status check_options(const Preprocess& how, int64_t image_channels) {
  const int64_t channels = how.channels == 0 ? image_channels : how.channels;
  for (const auto* list : {&how.mean, &how.std}) {
    if (list->size() > 1 && static_cast<int64_t>(list->size()) != channels) {
      return invalid("mean and std need one value, or one for each of the " +
                     std::to_string(channels) + " channels");
    }
  }
  if (std::ranges::find(how.std, 0.0f) != how.std.end()) return invalid("std must not be 0");
  for (int64_t pixels : {how.resize, how.crop}) {
    if (pixels < 0 || pixels > kMostPixels) {
      return invalid("resize and crop are sizes of up to " + std::to_string(kMostPixels) +
                     " pixels");
    }
  }
  return {};
}

}  // namespace

Result<Tensor> preprocess(const Tensor& image, const Preprocess& how, int64_t height,
                          int64_t width) {
  SHOAL_TRY(check_image(image, how));
  SHOAL_TRY(check_options(how, image.shape()[2]));
  Tensor picture = image;
  if (how.resize > 0) {
    const int64_t h = picture.shape()[0], w = picture.shape()[1], side = std::min(h, w);
    if (side != how.resize) {
      // The long side keeps the aspect ratio, rounded to nearest.
      auto rounded = [&](int64_t length) { return (length * how.resize + side / 2) / side; };
      if (rounded(std::max(h, w)) > kMostLong) {
        return invalid("an image of " + to_string(picture.shape()) + " is too long to resize to " +
                       std::to_string(how.resize));
      }
      picture = resize_image(picture, rounded(h), rounded(w));
    }
  }
  if (how.crop > 0) {
    if (how.crop > picture.shape()[0] || how.crop > picture.shape()[1]) {
      return invalid("crop " + std::to_string(how.crop) + " is larger than the image of " +
                     to_string(picture.shape()));
    }
    picture = centre_crop(picture, how.crop);
  }
  const bool fits =
      (height == 0 || picture.shape()[0] == height) && (width == 0 || picture.shape()[1] == width);
  if (!fits && how.stretch && height > 0 && width > 0)
    picture = resize_image(picture, height, width);
  if (!fits && !how.stretch) {
    return invalid("image is " + to_string(picture.shape()) +
                   " after preprocessing, the model takes " + std::to_string(height) + " x " +
                   std::to_string(width) + "; resize and crop it, or stretch it");
  }
  picture = with_channels(picture, how.channels);
  const int64_t h = picture.shape()[0], w = picture.shape()[1], c = picture.shape()[2];

  Tensor result({DType::kF32, how.nhwc ? Shape{1, h, w, c} : Shape{1, c, h, w}});
  const uint8_t* from = picture.data<uint8_t>().data();
  float* to = result.data<float>().data();
  for (int64_t k = 0; k < c; ++k) {
    const int64_t source = how.bgr ? c - 1 - k : k;
    const float mean = per_channel(how.mean, k, 0), std = per_channel(how.std, k, 1);
    for (int64_t i = 0; i < h * w; ++i) {
      const auto raw = static_cast<float>(from[i * c + source]);
      to[how.nhwc ? i * c + k : k * h * w + i] = ((how.scale ? raw / 255 : raw) - mean) / std;
    }
  }
  return result;
}

Result<Tensor> image_for_input(const Tensor& image, std::span<const int64_t> dims, Preprocess how) {
  int64_t height = 0, width = 0;
  if (dims.size() == 4) {
    // Only 1 and 3 can be channels of an image; [n, 3, h, 3] is taken as n, c, h, w.
    const auto can_be_channels = [](int64_t dim) { return dim == 1 || dim == 3; };
    if (!can_be_channels(dims[1]) && can_be_channels(dims[3])) how.nhwc = true;
    height = std::max<int64_t>(0, dims[how.nhwc ? 1 : 2]);
    width = std::max<int64_t>(0, dims[how.nhwc ? 2 : 3]);
    const int64_t channels = dims[how.nhwc ? 3 : 1];
    if (how.channels == 0 && can_be_channels(channels)) how.channels = channels;
  }
  SHOAL_ASSIGN(Tensor x, preprocess(image, how, height, width));
  return dims.size() == 2 ? x.reshaped({1, x.count()}) : x;
}

std::optional<Preprocess> find_preset(std::string_view name) {
  if (name == "imagenet") {
    return Preprocess{.resize = 256,
                      .crop = 224,
                      .channels = 3,
                      .mean = {0.485f, 0.456f, 0.406f},
                      .std = {0.229f, 0.224f, 0.225f}};
  }
  if (name == "digits") return Preprocess{.stretch = true, .channels = 1};
  if (name == "yolo") return Preprocess{.stretch = true, .channels = 3};
  return std::nullopt;
}

}  // namespace shoal

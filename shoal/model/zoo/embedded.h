// The model inside the binary: a small classifier of hand-drawn digits, and ten images to try it
// on. tools/digits.py drew the images, tools/train_digits.py trained the model. The spans are valid
// for the whole program; any thread may read them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace shoal::zoo {

struct Sample {
  std::string_view name;  // "sample_7.png"
  std::span<const std::byte> png;
};

std::span<const std::byte> digits_model();  // an ONNX file
std::array<Sample, 10> digits_samples();

}  // namespace shoal::zoo

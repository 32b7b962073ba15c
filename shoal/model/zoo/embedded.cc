#include "shoal/model/zoo/embedded.h"

#include "shoal/base/files/embed.h"

// SHOAL_DIGITS is the folder of the files, given by the build.
SHOAL_EMBED(digits_model, SHOAL_DIGITS "/digits.onnx");
SHOAL_EMBED(sample_0, SHOAL_DIGITS "/sample_0.png");
SHOAL_EMBED(sample_1, SHOAL_DIGITS "/sample_1.png");
SHOAL_EMBED(sample_2, SHOAL_DIGITS "/sample_2.png");
SHOAL_EMBED(sample_3, SHOAL_DIGITS "/sample_3.png");
SHOAL_EMBED(sample_4, SHOAL_DIGITS "/sample_4.png");
SHOAL_EMBED(sample_5, SHOAL_DIGITS "/sample_5.png");
SHOAL_EMBED(sample_6, SHOAL_DIGITS "/sample_6.png");
SHOAL_EMBED(sample_7, SHOAL_DIGITS "/sample_7.png");
SHOAL_EMBED(sample_8, SHOAL_DIGITS "/sample_8.png");
SHOAL_EMBED(sample_9, SHOAL_DIGITS "/sample_9.png");

namespace shoal::zoo {

std::span<const std::byte> digits_model() {
  return {shoal_digits_model_begin, shoal_digits_model_end};
}

std::array<Sample, 10> digits_samples() {
#define SHOAL_SAMPLE(n)                                                       \
  Sample {                                                                    \
    "sample_" #n ".png", { shoal_sample_##n##_begin, shoal_sample_##n##_end } \
  }
  return {SHOAL_SAMPLE(0), SHOAL_SAMPLE(1), SHOAL_SAMPLE(2), SHOAL_SAMPLE(3), SHOAL_SAMPLE(4),
          SHOAL_SAMPLE(5), SHOAL_SAMPLE(6), SHOAL_SAMPLE(7), SHOAL_SAMPLE(8), SHOAL_SAMPLE(9)};
#undef SHOAL_SAMPLE
}

}  // namespace shoal::zoo

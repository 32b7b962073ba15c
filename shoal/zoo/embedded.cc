// Files inside the binary: see embedded.h.
#include "shoal/zoo/embedded.h"

// SHOAL_DIGITS is the folder of the files, given by the build. The assembler puts them into the
// read-only data as they are: there is no generated source, and nothing is copied at run time.
#define SHOAL_EMBED(symbol, file)                                                            \
  asm(".section .rodata\n"                                                                   \
      ".balign 64\n"                                                                         \
      "shoal_" #symbol                                                                       \
      "_begin:\n"                                                                            \
      ".incbin \"" SHOAL_DIGITS "/" file                                                     \
      "\"\n"                                                                                 \
      "shoal_" #symbol                                                                       \
      "_end:\n"                                                                              \
      ".byte 0\n"                                                                            \
      ".previous\n");                                                                        \
  extern "C" const std::byte shoal_##symbol##_begin[] __attribute__((visibility("hidden"))); \
  extern "C" const std::byte shoal_##symbol##_end[] __attribute__((visibility("hidden")))

SHOAL_EMBED(digits_model, "digits.onnx");
SHOAL_EMBED(sample_0, "sample_0.png");
SHOAL_EMBED(sample_1, "sample_1.png");
SHOAL_EMBED(sample_2, "sample_2.png");
SHOAL_EMBED(sample_3, "sample_3.png");
SHOAL_EMBED(sample_4, "sample_4.png");
SHOAL_EMBED(sample_5, "sample_5.png");
SHOAL_EMBED(sample_6, "sample_6.png");
SHOAL_EMBED(sample_7, "sample_7.png");
SHOAL_EMBED(sample_8, "sample_8.png");
SHOAL_EMBED(sample_9, "sample_9.png");

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

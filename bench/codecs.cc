// Speed of the codecs on one core, one JSON line each: GB/s of f32 gradients, encoded and decoded.
// Two sizes: LeNet's gradients, which stay in a cache, and one of 64 MB, which does not.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "shoal/train/distributed/codec/gradient_codec.h"

namespace shoal::learn {
namespace {

// Of this thread, which is the only one that computes: what else runs on the machine counts less.
double processor_seconds() {
  timespec now{};
  SHOAL_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The best of several: others only ever take away.
template <class F>
double best_seconds(const F& run) {
  double best = 1e12;
  for (int i = 0; i < 25; ++i) {
    const double begin = processor_seconds();
    run();
    best = std::min(best, processor_seconds() - begin);
  }
  return best;
}

void measure(const char* name, const std::vector<TensorType>& types) {
  std::vector<Tensor> gradients, back;
  double bytes = 0;
  for (const TensorType& type : types) {
    gradients.emplace_back(type);
    back.emplace_back(type);
    fill_normal(gradients.back().data<float>(), RandomStream(1, gradients.size()), 0.1);
    bytes += static_cast<double>(type.bytes());
  }
  for (const CodecKind kind : all_codecs()) {
    CodecOptions options;
    options.kind = kind;
    auto codec = GradientCodec::create(options, types);
    SHOAL_CHECK(codec.ok());
    std::vector<std::byte> message(codec->bytes());
    const double encode =
        best_seconds([&] { SHOAL_CHECK(codec->encode(gradients, message).ok()); });
    const double decode = best_seconds([&] { SHOAL_CHECK(codec->decode(message, back).ok()); });
    std::printf(
        "{\"bench\":\"codecs\",\"size\":\"%s\",\"codec\":\"%s\",\"bytes\":%zu,\"ratio\":%.1f,"
        "\"encode_gb_s\":%.2f,\"decode_gb_s\":%.2f}\n",
        name, std::string(name_of(kind)).c_str(), message.size(),
        bytes / static_cast<double>(message.size()), bytes / encode / 1e9, bytes / decode / 1e9);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace shoal::learn

int main() {
  using shoal::DType;
  shoal::learn::measure("lenet", {{DType::kF32, {20, 1, 5, 5}},
                                  {DType::kF32, {20}},
                                  {DType::kF32, {50, 20, 5, 5}},
                                  {DType::kF32, {50}},
                                  {DType::kF32, {500, 800}},
                                  {DType::kF32, {500}},
                                  {DType::kF32, {10, 500}},
                                  {DType::kF32, {10}}});
  shoal::learn::measure("64MB", {{DType::kF32, {4096, 4096}}});
}

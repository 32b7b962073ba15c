// Images for C, where the library was built with them.
#include "shoal/engine/inputs/image.h"

#include "handles.h"

namespace shoal::c {
namespace {

Status read(const char* path, int64_t channels, int64_t height, int64_t width, shoal_tensor** out) {
  SHOAL_TRY(require(path, "path"));
  SHOAL_TRY(require(out, "out"));
  if (channels != 1 && channels != 3) return invalid("an image has 1 or 3 channels");
  if (height < 1 || width < 1) return invalid("height and width are at least 1");
  SHOAL_TRY(check({DType::kF32, {1, channels, height, width}}));
  SHOAL_ASSIGN(const Tensor image, read_image(path));
  SHOAL_ASSIGN(Tensor input,
               preprocess(image, {.stretch = true, .channels = channels}, height, width));
  *out = new shoal_tensor{std::move(input), true};
  return {};
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_tensor_read_image(const char* path, int64_t channels, int64_t height,
                                      int64_t width, shoal_tensor** out) {
  return shoal::c::guarded([&] { return shoal::c::read(path, channels, height, width, out); });
}

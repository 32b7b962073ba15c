// In the place of image.cc where the library is built without images.
#include "handles.h"

shoal_status* shoal_tensor_read_image(const char*, int64_t, int64_t, int64_t, shoal_tensor**) {
  return shoal::c::status_of(
      shoal::Status(shoal::Code::kUnsupported, "this library was built without images"));
}

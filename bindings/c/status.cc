// Versions and failures.
#include "handles.h"

namespace shoal::c {
namespace {

shoal_status no_memory{SHOAL_EXHAUSTED, "out of memory"};  // never freed

static_assert(SHOAL_OK == static_cast<int>(Code::kOk));
static_assert(SHOAL_INVALID_ARGUMENT == static_cast<int>(Code::kInvalidArgument));
static_assert(SHOAL_NOT_FOUND == static_cast<int>(Code::kNotFound));
static_assert(SHOAL_UNSUPPORTED == static_cast<int>(Code::kUnsupported));
static_assert(SHOAL_CORRUPT == static_cast<int>(Code::kCorrupt));
static_assert(SHOAL_EXHAUSTED == static_cast<int>(Code::kExhausted));
static_assert(SHOAL_UNAVAILABLE == static_cast<int>(Code::kUnavailable));
static_assert(SHOAL_DEADLINE == static_cast<int>(Code::kDeadline));
static_assert(SHOAL_INTERNAL == static_cast<int>(Code::kInternal));
static_assert(SHOAL_CANCELLED == static_cast<int>(Code::kCancelled));

shoal_status* make(Code code, std::string_view message) noexcept try {
  return new shoal_status{static_cast<shoal_code>(code), std::string(message)};
} catch (const std::bad_alloc&) {
  return &no_memory;
}

}  // namespace

shoal_status* status_of(const Status& status) noexcept {
  return status.ok() ? nullptr : make(status.code(), status.message());
}

shoal_status* out_of_memory() noexcept { return &no_memory; }

shoal_status* internal_error(const char* message) noexcept {
  return make(Code::kInternal, message);
}

}  // namespace shoal::c

const char* shoal_version(void) { return SHOAL_VERSION; }

shoal_code shoal_status_code(const shoal_status* status) {
  return status == nullptr ? shoal_code{SHOAL_OK} : status->code;
}

const char* shoal_status_message(const shoal_status* status) {
  return status == nullptr ? "ok" : status->message.c_str();
}

void shoal_status_free(shoal_status* status) {
  if (status != &shoal::c::no_memory) delete status;
}

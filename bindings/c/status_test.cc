// Failures where no memory is left for them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#include "handles.h"

namespace {

bool nothing_left = false;

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = nothing_left ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return nothing_left ? nullptr : std::malloc(size);
}
// Not inlined, or g++ takes `free` beside `new` for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace shoal::c {
namespace {

// The code reported for an exception when memory has run out.
shoal_code code_without_memory(const std::exception_ptr& error) {
  nothing_left = true;
  shoal_status* status = guarded([&]() -> Status { std::rethrow_exception(error); });
  nothing_left = false;
  const shoal_code code = shoal_status_code(status);
  shoal_status_free(status);
  return code;
}

TEST(Guarded, NeedsNoMemoryToReport) {
  EXPECT_EQ(code_without_memory(std::make_exception_ptr(std::bad_alloc())), SHOAL_EXHAUSTED);
  EXPECT_EQ(code_without_memory(std::make_exception_ptr(std::runtime_error("of a library"))),
            SHOAL_EXHAUSTED);
}

TEST(Guarded, ReportsExceptionsOfOthers) {
  shoal_status* status = guarded([]() -> Status { throw std::runtime_error("of a library"); });
  EXPECT_EQ(shoal_status_code(status), SHOAL_INTERNAL);
  EXPECT_STREQ(shoal_status_message(status), "of a library");
  shoal_status_free(status);
}

}  // namespace
}  // namespace shoal::c

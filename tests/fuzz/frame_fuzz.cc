// Any bytes from a peer: as chunks, in steps that the bytes choose themselves, and as what a
// newcomer or an authority may say. What is decoded keeps to the limits, and encodes to the same
// bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "shoal/base/limits.h"
#include "shoal/cluster/net/channel/assembler.h"
#include "shoal/cluster/net/enrol/enrolment_wire.h"

namespace {

using namespace shoal;
using namespace shoal::net;

constexpr size_t kMostPayload = size_t{1} << 20;

// Some payloads have no place.
Result<Buffer> place(Bytes control, size_t size) {
  SHOAL_CHECK(size > 0 && size <= kMostPayload);
  if (!control.empty() && control[0] == std::byte{'x'}) return invalid("no place");
  return Buffer::allocate(size);
}

void assemble(Bytes bytes) {
  if (bytes.empty()) return;
  const size_t step = std::to_integer<size_t>(bytes[0]) * 16 + 1;
  bytes = bytes.subspan(1);
  Assembler assembler(kMostPayload);
  while (!bytes.empty()) {
    const auto want = assembler.want();
    SHOAL_CHECK(!want.empty());
    const size_t n = std::min({want.size(), bytes.size(), step});
    std::ranges::copy(bytes.first(n), want.begin());
    bytes = bytes.subspan(n);
    const auto got = assembler.got(n, place);
    if (got.status().code() == Code::kCorrupt) return;
    if (!got.ok() || !*got) continue;
    SHOAL_CHECK((*got)->control.size() <= kLimits.max_control_bytes);
    SHOAL_CHECK((*got)->payload.bytes.size() <= kMostPayload);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  assemble(bytes);
  const auto request = decode_join_request(bytes);
  if (request.ok()) SHOAL_CHECK(std::ranges::equal(encode(*request), bytes));
  (void)decode_join_answer(bytes).ok();
  (void)parse_token(std::string_view(reinterpret_cast<const char*>(data), size)).ok();
  return 0;
}

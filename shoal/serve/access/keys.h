// Keys: which clients may use a server, and how often.
//
// A file has one client a line: NAME KEY [REQUESTS PER SECOND]; '#' begins a comment. Requests show
// a key as "Authorization: Bearer KEY". Only the SHA-256 of keys is kept, and all of them are
// compared to their last byte, so that the time it takes reveals nothing.
//
// The rate is a token bucket: tokens come in at the rate, up to those of one second, and each
// request takes one. Requests for documents, which the page sends all the time, have a separate
// bucket, so that looking at a server takes nothing from using it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

// The purpose of a request: inference and administration, or reading documents.
enum class KeyUse { kWork, kDocument };

struct KeyCheck {
  bool is_known = false;
  uint64_t client = 0;                  // the same for all requests with this key
  std::optional<Duration> retry_after;  // the key has no request left before
};

// Thread-safe.
class Keys {
 public:
  // kCorrupt if a line is malformed, a name or a key occurs twice, or a key has under 16 bytes.
  static Result<std::unique_ptr<Keys>> parse(std::string_view text);
  // From a file that only its owner can read.
  static Result<std::unique_ptr<Keys>> read(const std::filesystem::path& path);

  // `authorization`: the header's value. It counts as a request.
  KeyCheck check(std::string_view authorization, KeyUse use, Time now);

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Bucket {
    double per_second = 0;  // 0: any
    double tokens = 0;
    Time counted{};  // tokens, at this time
  };
  struct Client {
    std::string name;
    Digest digest{};
    Bucket work, documents;
  };
  static Bucket full_bucket(double per_second);
  // nullopt if a token was taken, otherwise when there will be one.
  static std::optional<Duration> take(Bucket& bucket, Time now);
  static Digest digest_of(std::string_view key);
  static Result<Client> parse_line(std::string_view line);

  std::mutex mutex_;
  std::vector<Client> clients_;
};

}  // namespace shoal::serve

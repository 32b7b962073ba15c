#include "shoal/serve/access/keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>

#include "shoal/base/text/printable.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::serve {
namespace {

constexpr size_t kShortestKey = 16;
constexpr std::string_view kScheme = "Bearer ";

constexpr double kDocumentsPerSecond = 10;  // at least: several times as many as a page asks for

double burst_of(double per_second) { return std::max(per_second, 1.0); }

}  // namespace

Keys::Digest Keys::digest_of(std::string_view key) {
  Digest digest{};
  const bool ok =
      EVP_Digest(key.data(), key.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1;
  SHOAL_CHECK(ok);
  return digest;
}

Result<Keys::Client> Keys::parse_line(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string key, rate, more;
  Client client;
  words >> client.name >> key >> rate >> more;
  const auto fail = [&](const std::string& why) {
    return Status(Code::kCorrupt, "key of " + printable(client.name, 64) + ": " + why);
  };
  if (key.size() < kShortestKey) return fail("a key has at least 16 characters");
  if (!more.empty()) return fail("a line is NAME KEY [REQUESTS PER SECOND]");
  client.digest = digest_of(key);
  if (rate.empty()) return client;
  const char* const last = rate.data() + rate.size();
  double per_second = 0;
  const auto [end, error] = std::from_chars(rate.data(), last, per_second);
  if (error != std::errc() || end != last || !(per_second > 0 && per_second < 1e9)) {
    return fail("requests per second are a number above 0");
  }
  client.work = full_bucket(per_second);
  client.documents = full_bucket(std::max(per_second, kDocumentsPerSecond));
  return client;
}

Keys::Bucket Keys::full_bucket(double per_second) { return {per_second, burst_of(per_second), {}}; }

std::optional<Duration> Keys::take(Bucket& bucket, Time now) {
  if (bucket.per_second == 0) return std::nullopt;
  const double passed = std::chrono::duration<double>(now - bucket.counted).count();
  bucket.tokens = std::min(bucket.tokens + std::max(passed, 0.0) * bucket.per_second,
                           burst_of(bucket.per_second));
  bucket.counted = std::max(bucket.counted, now);
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  const std::chrono::duration<double> wait((1 - bucket.tokens) / bucket.per_second);
  return std::chrono::duration_cast<Duration>(wait);
}

Result<std::unique_ptr<Keys>> Keys::parse(std::string_view text) {
  auto keys = std::make_unique<Keys>();
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    SHOAL_ASSIGN(Client client, parse_line(line));
    const bool is_there = std::ranges::any_of(keys->clients_, [&](const Client& other) {
      return other.name == client.name || other.digest == client.digest;
    });
    if (is_there) {
      return Status(Code::kCorrupt,
                    "name or key of " + printable(client.name, 64) + " is there twice");
    }
    keys->clients_.push_back(std::move(client));
  }
  if (keys->clients_.empty()) return Status(Code::kCorrupt, "there is no key");
  return keys;
}

Result<std::unique_ptr<Keys>> Keys::read(const std::filesystem::path& path) {
  SHOAL_ASSIGN(const std::string text, net::read_secret(path));
  auto keys = parse(text);
  if (!keys.ok()) return keys.status().at(path.string());
  return keys;
}

KeyCheck Keys::check(std::string_view authorization, KeyUse use, Time now) {
  const bool has_key = authorization.starts_with(kScheme);
  if (has_key) authorization.remove_prefix(kScheme.size());
  const Digest digest = digest_of(authorization);
  Client* found = nullptr;
  for (Client& client : clients_) {
    if (CRYPTO_memcmp(client.digest.data(), digest.data(), digest.size()) == 0) found = &client;
  }
  if (!has_key || found == nullptr) return {};
  const std::scoped_lock lock(mutex_);
  Bucket& bucket = use == KeyUse::kWork ? found->work : found->documents;
  return {true, std::hash<std::string>()(found->name), take(bucket, now)};
}

}  // namespace shoal::serve

// Helpers for tests of channels: random bytes, and two connected peers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

using Data = std::vector<std::byte>;

inline Deadline soon() { return after(std::chrono::seconds(30)); }

// Draws eight bytes at a time: with sanitizers, 24 MB would take a second otherwise.
inline Data random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  Data data(size);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t drawn = random();
    std::memcpy(data.data() + at, &drawn, std::min(sizeof drawn, size - at));
  }
  return data;
}

inline Data bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const Data& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

inline bool equal(Bytes a, Bytes b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// A folder that is removed with the test.
class TestFolder {
 public:
  const std::filesystem::path& path() const { return folder_->path(); }

 private:
  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

// Its own cluster, made on first use: keys take a moment.
class TestCluster {
 public:
  TestCluster() : authority_(Authority::create(folder_.path() / "authority", now())) {
    EXPECT_TRUE(authority_.ok()) << authority_.status().message();
  }
  static Time now() { return std::chrono::system_clock::now(); }
  const Authority& authority() const { return *authority_; }
  Identity identity(const std::string& name, Role role = Role::kWorker) const {
    return *authority_->issue(name, now(), {.role = role});
  }
  std::unique_ptr<Transport> transport(const std::string& name, TlsOptions options = {},
                                       Role role = Role::kWorker) const {
    return *make_tls_transport(identity(name, role), std::move(options));
  }

 private:
  TestFolder folder_;
  Result<Authority> authority_;
};

// Two ends of a channel.
struct Pair {
  std::unique_ptr<Transport> left_transport;
  std::unique_ptr<Transport> right_transport;
  std::unique_ptr<Listener> listener;
  std::shared_ptr<Channel> left;   // connected
  std::shared_ptr<Channel> right;  // accepted
};

inline Pair connect_pair(std::unique_ptr<Transport> left, std::unique_ptr<Transport> right,
                         std::string_view address) {
  Pair pair{std::move(left), std::move(right), nullptr, nullptr, nullptr};
  auto listener = pair.right_transport->listen(address);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  pair.listener = *std::move(listener);
  auto connected = pair.left_transport->connect(pair.listener->address(), soon());
  EXPECT_TRUE(connected.ok()) << connected.status().message();
  auto accepted = pair.listener->accept(soon());
  EXPECT_TRUE(accepted.ok()) << accepted.status().message();
  pair.left = *std::move(connected);
  pair.right = *std::move(accepted);
  return pair;
}

inline Pair loopback_pair(const ChannelOptions& options = {}) {
  LoopbackNetwork network;
  return connect_pair(network.transport("left", options), network.transport("right", options),
                      "right");
}

inline Pair tls_pair(const ChannelOptions& options = {}) {
  static const TestCluster cluster;
  TlsOptions tls;
  tls.channel = options;
  return connect_pair(cluster.transport("left", tls), cluster.transport("right", tls), ":0");
}

inline Status send(Channel& channel, const Data& control, const Data& payload = {},
                   Deadline deadline = soon()) {
  const Bytes piece(payload);
  return channel.send({.control = control, .payload = {&piece, payload.empty() ? 0u : 1u}},
                      deadline);
}

inline Status send_urgent(Channel& channel, const Data& control, Deadline deadline = soon()) {
  return channel.send({.control = control, .payload = {}, .urgent = true}, deadline);
}

}  // namespace shoal::net

// KeptChannels: a transport that hands out channels which are open already before it opens others.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "shoal/net/transport.h"

namespace shoal::cli {

class KeptChannels final : public net::Transport {
 public:
  explicit KeptChannels(net::Transport& others) : others_(others) {}  // outlives it

  void keep(const std::string& address, std::shared_ptr<net::Channel> channel) {
    const std::lock_guard lock(mutex_);
    kept_[address] = std::move(channel);
  }

  // Each that is kept once.
  Result<std::shared_ptr<net::Channel>> connect(std::string_view address,
                                                net::Deadline deadline) override {
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = kept_.extract(std::string(address))) return std::move(kept.mapped());
    }
    return others_.connect(address, deadline);
  }

  Result<std::unique_ptr<net::Listener>> listen(std::string_view address) override {
    return others_.listen(address);
  }

 private:
  net::Transport& others_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<net::Channel>> kept_;  // by address
};

}  // namespace shoal::cli

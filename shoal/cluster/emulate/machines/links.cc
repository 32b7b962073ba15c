#include "shoal/cluster/emulate/machines/links.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/processes/shared_memory.h"
#include "shoal/cluster/net/link/link.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using Media = std::vector<std::shared_ptr<net::Medium>>;

constexpr const char* kCoordinator = "coordinator";

std::chrono::nanoseconds nanoseconds(double seconds) {
  constexpr double kForever = 1e9;  // longer would overflow
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::min(seconds, kForever)));
}

// The way between two machines is as slow as the slower of their links.
net::LinkSpec between(const plan::LinkProfile& from, const plan::LinkProfile& to) {
  net::LinkSpec spec;
  spec.bits_per_second = 8 * std::min(from.bytes_per_second, to.bytes_per_second);
  spec.latency = nanoseconds(std::max(from.latency_seconds, to.latency_seconds));
  spec.wake_up = nanoseconds(to.wakeup_seconds);
  spec.asleep_after = nanoseconds(to.sleep_after_seconds);
  return spec;
}

class Links final : public net::Decorator {
 public:
  Links(Emulation emulation, int self) : emulation_(std::move(emulation)), self_(self) {}

  // One link to every machine there is.
  Status open() {
    SHOAL_ASSIGN(const auto shaping, open_shaping(emulation_.media));
    SHOAL_ASSIGN(const auto dilation, emulation_.shared_dilation());
    const plan::ClusterProfile& cluster = emulation_.cluster;
    for (int peer = -1; peer < std::ssize(cluster.workers); ++peer) {
      if (peer == self_) continue;
      net::LinkOptions options;
      options.spec = between(cluster.link_of(self_), cluster.link_of(peer));
      // The coordinator is awake: it has a request.
      if (peer == plan::kCoordinator) options.spec.wake_up = {};
      options.dilation = [dilation] { return dilation->get(); };
      options.shaped = [shaping] { return shaping->load(std::memory_order_relaxed); };
      SHOAL_ASSIGN(options.sender, radio_of(self_));
      SHOAL_ASSIGN(options.receiver, radio_of(peer));
      SHOAL_ASSIGN(options.media, media_to(peer));
      by_name_[name_of(peer)] = net::make_link(std::move(options));
    }
    return {};
  }

  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const net::Peer& peer) const override {
    auto link = by_name_.find(peer.name);
    if (link == by_name_.end()) link = by_name_.find(kCoordinator);
    return link == by_name_.end() ? std::move(stream) : link->second->wrap(std::move(stream), peer);
  }

 private:
  std::string name_of(int machine) const {
    return machine < 0 ? kCoordinator
                       : emulation_.cluster.workers[static_cast<size_t>(machine)].name;
  }

  Result<std::shared_ptr<net::Radio>> radio_of(int machine) const {
    return net::Radio::open(emulation_.media / (name_of(machine) + ".radio"));
  }

  // One radio channel for all machines on it; otherwise the sender's way out and the receiver's way
  // in. These are the same resources as in plan/cost/steps.cc, so that emulation and simulation
  // agree.
  Result<Media> media_to(int peer) const {
    std::vector<std::string> names;
    for (const auto& [machine, way] : {std::pair(self_, ".out"), std::pair(peer, ".in")}) {
      const int medium = emulation_.cluster.link_of(machine).medium;
      names.push_back(medium == plan::kOwnWire ? name_of(machine) + way
                                               : "air-" + std::to_string(medium));
    }
    if (names[0] == names[1]) names.pop_back();
    Media media;
    for (const std::string& name : names) {
      SHOAL_ASSIGN(auto medium, net::Medium::open(emulation_.media / name));
      media.push_back(std::move(medium));
    }
    return media;
  }

  const Emulation emulation_;
  const int self_;
  std::map<std::string, std::shared_ptr<const net::Decorator>> by_name_;
};

}  // namespace

Result<std::shared_ptr<std::atomic<bool>>> open_shaping(const std::filesystem::path& media) {
  return open_shared<std::atomic<bool>>(media / "shaped");
}

Result<std::shared_ptr<const net::Decorator>> make_links(const Emulation& emulation, int self) {
  auto made = std::make_shared<Links>(emulation, self);
  SHOAL_TRY(made->open());
  return std::shared_ptr<const net::Decorator>(std::move(made));
}

}  // namespace shoal::emulate

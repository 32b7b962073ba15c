// ClusterPlacer: assigns the network of each of several streams, which one machine decodes, gates
// and tracks, to a worker of a cluster. It learns costs and gate rates from the frames.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shoal/base/text/json.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/placement/placement.h"

namespace shoal::placement {

struct StreamsHere {
  std::vector<std::string> names;
  double rate = 30;  // frames a second that each has
  double cores = 1;  // of this machine
  double watts = 0;  // of a worker that computes, beyond those at rest; 0: not known
};

// The problem of a cluster: machine 0 is this one, machine w + 1 is worker w. Other workers can do
// nothing. `activity` is of each stream, `seconds` of a frame here.
Problem problem_of(const StreamsHere& streams, const Graph& network,
                   const plan::ClusterProfile& cluster, const std::set<int>& workers,
                   const std::vector<double>& activity, double seconds);

// Thread-safe.
class ClusterPlacer {
 public:
  explicit ClusterPlacer(StreamsHere streams);

  // Records an answered frame: whether the network ran on it, and the seconds that this machine
  // computed.
  void note(size_t stream, bool looked, double seconds_here);

  // The worker for each stream; kNowhere if none can. Streams stay where they were if that is
  // nearly as good.
  std::vector<int> place(const Graph& network, const plan::ClusterProfile& cluster,
                         const std::set<int>& workers);

  // A placement, for the user.
  struct Decision {
    Placement placement;
    std::vector<std::string> workers;  // for each stream; "" for none
  };
  Decision latest() const;
  size_t changes() const;  // placements in which a stream moved
  // Where streams are (text_of()), if one has moved since the last call; else empty.
  std::string news();

 private:
  struct Known {
    double activity = 1;
    size_t frames = 0;
  };

  const StreamsHere streams_;
  mutable std::mutex mutex_;
  std::vector<Known> known_;
  double seconds_ = 0;  // of a frame, here
  size_t frames_ = 0;
  Problem problem_;  // the latest
  std::vector<Places> places_;
  Decision latest_;
  size_t changes_ = 0, told_ = 0;
};

// A line for each stream: its place and what is expected of it.
std::string text_of(const ClusterPlacer::Decision& decision, const std::vector<std::string>& names);
// The same for one stream, for scripts; null if nothing was decided.
Json to_json(const ClusterPlacer::Decision& decision, size_t stream);

}  // namespace shoal::placement

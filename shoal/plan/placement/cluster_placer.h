// ClusterPlacer: which worker of a cluster looks at each of several streams that one machine
// decodes, gates and tracks. It learns from the frames what that costs, and how many the gate lets
// through.
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

// The problem of a cluster: machine 0 is this one, machine w + 1 is worker w. Workers that are not
// in `workers` can do nothing. `activity` is of each stream, `seconds` of a frame here.
Problem problem_of(const StreamsHere& streams, const Graph& network,
                   const plan::ClusterProfile& cluster, const std::set<int>& workers,
                   const std::vector<double>& activity, double seconds);

// Thread-safe.
class ClusterPlacer {
 public:
  explicit ClusterPlacer(StreamsHere streams);

  // A frame was answered: whether the network looked at it, and the seconds that this machine
  // computed for it.
  void note(size_t stream, bool looked, double seconds_here);

  // The worker that looks at each stream; kNowhere: none can. Streams stay where they were if that
  // is nearly as good.
  std::vector<int> place(const Graph& network, const plan::ClusterProfile& cluster,
                         const std::set<int>& workers);

  // A placement in words and numbers, for the user.
  struct Decision {
    Placement placement;
    std::vector<std::string> workers;  // that look at each stream; "" for none
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

// Where streams of these names are and what is expected of them: a line for each.
std::string text_of(const ClusterPlacer::Decision& decision, const std::vector<std::string>& names);
// The same of one of them, for scripts; null where nothing was decided.
Json to_json(const ClusterPlacer::Decision& decision, size_t stream);

}  // namespace shoal::placement

// Options: the places that one camera can have, and what each takes of machines and links.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/placement/placement.h"

namespace shoal::placement {

// The use of one resource by one camera, or by all.
struct Use {
  size_t resource = 0;
  double load = 0;     // seconds of each second
  double moment = 0;   // sum of rate * seconds^2
  double seconds = 0;  // for one frame
  double visits = 0;   // for one frame
};

struct Option {
  Places places = kUnplaced;
  std::vector<Use> uses = {};  // by resource
  double seconds = 0;          // latency without waiting
  double watts = 0;
};

// The network of a problem's machines, whose resources uses are about: compute of each machine,
// then its ways out and in, then radio channels.
class Resources {
 public:
  explicit Resources(const Problem& problem);

  size_t count() const { return cores_.size(); }
  double cores(size_t resource) const { return cores_[resource]; }
  // kUnplaced makes an empty option.
  Option option(const Camera& camera, const Places& places) const;

 private:
  void compute(Option& option, int machine, double rate, double seconds) const;
  void send(Option& option, int from, int to, double rate, double bytes) const;

  const Problem& problem_;
  plan::ClusterProfile links_;
  std::vector<double> cores_;  // by resource
};

// The Pareto-optimal options of a camera, in the order of places. With many machines: the network
// anywhere, the other stages beside it, at the origin or at the listener.
std::vector<Option> options_of(const Resources& resources, const Problem& problem,
                               const Camera& camera);

bool can(const Problem& problem, const Camera& camera, const Places& places);

// One option per camera; some may not be chosen yet.
class Chosen {
 public:
  Chosen(const Resources& resources, const Problem& problem);

  // REQUIRES: the option outlives this, or is replaced before.
  void set(size_t camera, const Option* option);
  const Option* of(size_t camera) const { return options_[camera]; }

  Score score() const;
  // Its rate and latency beside the others. REQUIRES: it has an option with places.
  double slowdown_of(size_t camera) const;
  double latency_of(size_t camera) const;
  double load(size_t resource) const { return totals_[resource].load / resources_.cores(resource); }

 private:
  void add_up(const Option* option, double times);
  double wait_of(const Use& use) const;

  const Resources& resources_;
  const Problem& problem_;
  std::vector<const Option*> options_;
  std::vector<Use> totals_;
};

}  // namespace shoal::placement

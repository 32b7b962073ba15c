// Candidates: possible segments of a plan, each made once. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

// The nodes between two cuts, spread by a layout.
struct Candidate {
  size_t begin = 0, end = 0;  // cuts
  size_t layout = 0;
  std::vector<Task> tasks;
  // By task.
  TaskInputs inputs;
  std::vector<double> seconds, weight_bytes, activation_bytes;
  double slowest = 0;  // seconds
  // Bytes that travel of its outputs, as a multiple of those without protection.
  double copies = 1;
};

// The losses that plans must survive once they are protected. Protection changes the graph, so the
// search only estimates it: a segment that cannot be coded is computed and sent once more for each
// loss; the readers of a coded one decode and activate it.
struct ToSurvive {
  size_t losses = 0;
  std::vector<int> workers = {};  // that may be used
  double repeat_weight = 1;       // of the time of segments that are repeated
};

// Makes candidates on demand and keeps them. Pointers stay valid as long as this does. The graph
// and the cluster outlive it.
class Candidates {
 public:
  Candidates(const Graph& graph, const ClusterProfile& cluster, std::vector<size_t> cuts,
             ToSurvive survive = {})
      : graph_(graph), cluster_(cluster), cuts_(std::move(cuts)), survive_(std::move(survive)) {}

  const Graph& graph() const { return graph_; }
  const ClusterProfile& cluster() const { return cluster_; }
  const std::vector<size_t>& cuts() const { return cuts_; }

  // The number of a layout; equal layouts have equal numbers.
  size_t add(const Layout& layout);
  const Layout& layout(size_t number) const { return layouts_[number]; }

  // Null if some value has no such axis or some node cannot be split like that.
  const Candidate* find(size_t begin, size_t end, size_t layout);

 private:
  std::unique_ptr<Candidate> make(size_t begin, size_t end, size_t layout) const;
  void protect(Candidate& candidate, const std::vector<Part>& parts) const;
  double bytes_put_together(const CodedSegment& coded) const;

  const Graph& graph_;
  const ClusterProfile& cluster_;
  const std::vector<size_t> cuts_;
  const ToSurvive survive_;
  std::vector<Layout> layouts_;
  std::unordered_map<uint64_t, std::unique_ptr<Candidate>> made_;
};

// Candidates in the graph's order, without gaps: a plan.
using Chain = std::vector<const Candidate*>;
Plan plan_of(const Candidates& candidates, const Chain& chain);
// Its kind: "rows and channels". Segments of one worker are left out beside others.
std::string name_of(const Candidates& candidates, const Chain& chain);

}  // namespace shoal::plan

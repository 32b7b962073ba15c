// The rules of evidence:
//
//   - A claim is wrong if it differs from the value computed here by more than rounding explains,
//     in units of the largest element of the value and of what its node reads.
//   - Only wrong claims about the earliest segment accuse their senders. Later errors may follow
//     from them, even if both copies of a value are wrong: their makers read the same lie. The
//     first wrong value that is sent is in dispute, because the other copy of it is right.
//   - A report accuses the sender, on the word of the reporter: see Strikes.
#include "shoal/cluster/coordinator/policy/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "shoal/plan/search/wire_format.h"

namespace shoal::cluster {
namespace {

constexpr double kSteps = 2;  // of 8-bit values, as for a Witness

bool lies_in(const Shape& index, const Region& box) {
  if (index.rank() != box.begin.rank()) return false;
  for (size_t d = 0; d < index.rank(); ++d) {
    if (index[d] < box.begin[d] || index[d] >= box.end[d]) return false;
  }
  return true;
}

size_t offset_of(const Shape& index, const Shape& shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.rank(); ++d) offset = offset * shape[d] + index[d];
  return static_cast<size_t>(offset);
}

double element(const Tensor& tensor, size_t at) {
  double x = 0;
  visit<Numbers>(tensor.dtype(), [&]<class T>() { x = static_cast<double>(tensor.data<T>()[at]); });
  return x;
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  if (!Floats::contains(tensor.dtype())) return largest;
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    for (const T x : tensor.data<T>()) {
      const double magnitude = std::abs(static_cast<double>(x));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
  });
  return largest;
}

// A dispute that fits the plan: the sender of each claim, and the segment that makes the values.
struct Fact {
  int reporter = 0;
  size_t segment = 0;
  const Dispute* dispute = nullptr;
  std::vector<int> senders;  // by claim
};

class Trial {
 public:
  Trial(const DisputedRequest& request, const std::vector<std::string>& names)
      : request_(request),
        names_(names),
        graph_(request.attempt.deployed->scheduled.graph()),
        plan_(request.attempt.deployed->scheduled.plan()) {
    const auto nodes = graph_.nodes();
    for (size_t s = 0; s < plan_.segments.size(); ++s) {
      for (size_t i = plan_.segments[s].nodes.begin; i < plan_.segments[s].nodes.end; ++i) {
        for (ValueId id : nodes[i].outputs) makers_[id] = {s, i};
      }
    }
  }

  Result<std::vector<Accusation>> run(Device& device) {
    for (const ReportedDispute& reported : request_.disputes) admit(reported);
    if (facts_.empty()) return std::vector<Accusation>();
    SHOAL_TRY(find_truth(device));
    size_t first = plan_.segments.size();
    for (const Fact& fact : facts_) {
      if (has_wrong_claim(fact)) first = std::min(first, fact.segment);
    }
    std::set<Accusation> accusations;
    for (const Fact& fact : facts_) {
      for (size_t c = 0; c < fact.senders.size() && fact.segment == first; ++c) {
        if (!is_wrong(*fact.dispute, fact.dispute->claims[c])) continue;
        accusations.insert({fact.senders[c], fact.reporter});
      }
    }
    return std::vector<Accusation>(accusations.begin(), accusations.end());
  }

 private:
  struct Maker {
    size_t segment, node;
  };

  // Takes a dispute if all claims are about values that their senders have in the plan.
  void admit(const ReportedDispute& reported) {
    Fact fact{reported.reporter, plan_.segments.size(), &reported.dispute, {}};
    for (const Claim& claim : reported.dispute.claims) {
      const auto maker = makers_.find(claim.value);
      const int sender = claim.from.empty() ? reported.reporter : number_of(claim.from);
      if (maker == makers_.end() || !has(sender, claim.value, reported.dispute.index)) return;
      fact.segment = std::min(fact.segment, maker->second.segment);
      fact.senders.push_back(sender);
    }
    if (!fact.senders.empty()) facts_.push_back(std::move(fact));
  }

  int number_of(const std::string& name) const {
    const auto it = std::ranges::find(names_, name);
    return it == names_.end() ? plan::kCoordinator : static_cast<int>(it - names_.begin());
  }

  // Whether a worker makes this element.
  bool has(int worker, ValueId value, const Shape& index) const {
    const plan::Segment& segment = plan_.segments[makers_.at(value).segment];
    return std::ranges::any_of(segment.tasks, [&](const plan::Task& task) {
      return task.worker == worker && std::ranges::any_of(task.outputs, [&](const auto& piece) {
               return piece.value == value && lies_in(index, piece.region);
             });
    });
  }

  // Computes all values in dispute, and what their nodes read: rounding errors are relative to that
  // where a sum cancels.
  Status find_truth(Device& device) {
    std::set<ValueId> wanted;
    for (const Fact& fact : facts_) {
      for (const Claim& claim : fact.dispute->claims) {
        wanted.insert(claim.value);
        for (ValueId id : graph_.nodes()[makers_.at(claim.value).node].inputs) {
          if (makers_.contains(id)) wanted.insert(id);
        }
      }
    }
    std::vector<plan::Piece> pieces;
    for (ValueId id : wanted) pieces.push_back({id, Region::whole(graph_[id].type.shape)});
    SHOAL_ASSIGN(const plan::Part part,
                 plan::make_part(graph_, {0, graph_.nodes().size()}, std::move(pieces)));
    SHOAL_ASSIGN(const Graph graph, plan::to_graph(graph_, part));
    SHOAL_ASSIGN(const auto executable, device.compile(graph));
    std::vector<Tensor> inputs, outputs(part.outputs.size());
    for (const plan::Piece& piece : part.inputs) {
      const auto at = std::ranges::find(graph_.inputs(), piece.value) - graph_.inputs().begin();
      const auto input = static_cast<size_t>(at);
      inputs.push_back(crop(plan::as_sent(graph_, input, request_.inputs[input]), piece.region));
    }
    SHOAL_TRY(executable->run(inputs, outputs, {}));
    for (size_t i = 0; i < outputs.size(); ++i) {
      truth_[part.outputs[i].value] = {outputs[i], largest_of(outputs[i])};
    }
    return {};
  }

  bool has_wrong_claim(const Fact& fact) const {
    return std::ranges::any_of(fact.dispute->claims,
                               [&](const Claim& claim) { return is_wrong(*fact.dispute, claim); });
  }

  // Negated, so that NaN is wrong where the truth is a number.
  bool is_wrong(const Dispute& dispute, const Claim& claim) const {
    const auto& [tensor, largest] = truth_.at(claim.value);
    const double right = element(tensor, offset_of(dispute.index, tensor.shape()));
    if (right == claim.said || (std::isnan(right) && std::isnan(claim.said))) return false;
    return !(std::abs(right - claim.said) <= allowed(claim.value, largest));
  }

  double allowed(ValueId value, double largest) const {
    const DType dtype = graph_[value].type.dtype;
    if (!Floats::contains(dtype)) return dtype == DType::kI32 ? 0 : kSteps;
    for (ValueId id : graph_.nodes()[makers_.at(value).node].inputs) {
      const auto read = truth_.find(id);
      if (read != truth_.end()) largest = std::max(largest, read->second.largest);
    }
    return request_.tolerance * largest;
  }

  struct Truth {
    Tensor tensor;
    double largest = 0;
  };

  const DisputedRequest& request_;
  const std::vector<std::string>& names_;
  const Graph& graph_;
  const plan::Plan& plan_;
  std::map<ValueId, Maker> makers_;
  std::vector<Fact> facts_;
  std::map<ValueId, Truth> truth_;
};

}  // namespace

Result<std::vector<Accusation>> judge(const DisputedRequest& request,
                                      const std::vector<std::string>& names, Device& device) {
  return Trial(request, names).run(device);
}

}  // namespace shoal::cluster

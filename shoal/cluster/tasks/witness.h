// Witness: keeps the pieces that one machine has of each request, and finds those that contradict
// each other. In a plan that survives losses every piece comes from several workers, or is a member
// of a code, so that others contradict a worker that computes or sends something wrong. It does not
// decide which claim is true. No network and no clock.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shoal/cluster/tasks/task_code.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {

namespace message {
class Checked;
}

// One worker's value of an element.
struct Claim {
  std::string from;  // the worker's name; empty: the worker that reports the dispute
  ValueId value = kNoValue;
  double said = 0;

  friend bool operator==(const Claim&, const Claim&) = default;
};

// Contradicting claims about one element of a value, by several workers; or about the same element
// of all members of a code. For plans that survive losses.
struct Dispute {
  Shape index;
  std::vector<Claim> claims;

  friend bool operator==(const Dispute&, const Dispute&) = default;
};

// More in one report add nothing.
inline constexpr size_t kMostDisputes = 8;

void encode(const std::vector<Dispute>& disputes, message::Checked& to);
// kCorrupt if there are more, or more claims in one, than a worker can have reason to report.
Result<std::vector<Dispute>> decode(const message::Checked& from);

// The pieces to compare, and their number.
struct CheckOrder {
  size_t pieces = 0;     // compared when this many have come
  double tolerance = 0;  // of rounding, relative to the largest element
};

// Thread-safe. Tensors are kept, not copied.
class Witness {
 public:
  // The codes that the tasks of this machine read.
  explicit Witness(std::vector<TaskCode> codes = {}) : codes_(std::move(codes)) {}

  // Takes a piece that a worker sent or, if `from` is empty, that this machine made. Returns the
  // disputes if the request is to be checked and this was the last piece. Ignores duplicates, and
  // pieces of requests that are over.
  std::optional<std::vector<Dispute>> add(uint64_t request, const std::string& from,
                                          const plan::Piece& piece, const Tensor& elements);
  // From now on the request is to be checked. Returns the disputes if all pieces have come.
  std::optional<std::vector<Dispute>> check(uint64_t request, const CheckOrder& order);
  // Drops what is kept of a request.
  void forget(uint64_t request);

  size_t kept() const;  // requests

 private:
  struct Held {
    std::string from;
    plan::Piece piece;
    Tensor elements;
  };
  struct Record {
    std::vector<Held> pieces;
    std::optional<CheckOrder> order;

    bool is_complete() const { return order && pieces.size() >= order->pieces; }
  };

  std::optional<Record> take_if_complete(uint64_t request);
  void end(uint64_t request);
  std::vector<Dispute> compare(const Record& record) const;
  static std::optional<Dispute> compare_copies(const Held& a, const Held& b, double tolerance);
  static std::optional<Dispute> compare_members(const TaskCode& code, const Record& record);

  const std::vector<TaskCode> codes_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Record> records_;
  std::set<uint64_t> over_;  // requests that ended, lately
};

}  // namespace shoal::cluster

// Cascade: exits of a cheap network in front of an oracle that knows everybody [Huynh 2019, 5].
//
//   for exit i: f[i] = the embedding there
//               if somebody recent is within T[i] of f[i]: the answer
//   else the oracle's answer, which is remembered at all exits
//
// Thresholds T are given, or learned from the stream: in a lesson a face goes through all exits and
// the oracle, and shows at each exit how far away the nearest recent person is and whether it is
// the oracle's answer; and how far away the nearest other person is, the answer there if the
// face were new. After enough lessons T[i] is the largest for which they say, at some risk, that
// the wanted share of the answers within it is the oracle's (shrink/exits/thresholds/thresholds.h),
// of known and of new faces together; an exit of which they say it of no distance stays off. Early
// answers are checked now and then, and too many wrong ones begin the lessons anew.
//
// Whatever the exits are worth, all costs together stay within `slack` of those of the oracle alone
// (shrink/exits/thresholds/budget.h): a face that may not cost the exits and the oracle goes to the
// oracle at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/thresholds/budget.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/video/faces/recognition/embedding.h"
#include "shoal/video/faces/recognition/recent_faces.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// Multiply-accumulates, or any one unit. A value.
struct CascadeCosts {
  std::vector<int64_t> exits = {};  // from the exit before on
  int64_t oracle = 0;               // after the last exit
  int64_t alone = 0;                // of the oracle without exits: less where exits are extra work
};

// How to answer early. A value.
struct CascadeOptions {
  RecentOptions recent = {};
  CascadeCosts costs = {};
  std::vector<double> thresholds = {};  // squared distances, for every exit; negative: off. Empty:
                                        // learned
  exits::WantedPrecision wanted = {.shares = 20};  // of early answers, against the oracle's
  size_t lessons = 1000;
  size_t audit = 20;    // one of so many early answers is checked
  double slack = 0.02;  // of all costs
};

// Who it is.
struct FaceAnswer {
  std::optional<std::string> person = {};  // nothing: unknown
  size_t exit = 0;                         // which answered: from 0; as many as exits: the oracle
  double distance = 0;                     // at that exit; 0 from the oracle
};

// What it did so far.
struct CascadeFigures {
  std::vector<size_t> answers = {};  // by exit, the oracle last
  int64_t cost = 0, alone = 0;       // of all faces, and what the oracle alone would have cost
  size_t lessons = 0, checked = 0, wrong = 0;  // wrong: early answers that a check contradicted

  // How much less it cost than the oracle alone.
  double speedup() const {
    return cost > 0 ? static_cast<double>(alone) / static_cast<double>(cost) : 1;
  }
};

// A face's embedding at an exit; exits are asked in order. And what the oracle says of it.
using ExitFunction = std::function<Result<Embedding>(size_t exit)>;
using OracleFunction = std::function<Result<std::optional<std::string>>()>;

// How far the nearest recent person was at each exit, whether that was right, and how far the
// nearest one is that was wrong.
struct Lesson {
  std::vector<double> distances = {};  // by exit
  std::vector<bool> right = {};
  std::vector<double> others = {};
};
// Pure: the largest distance for each exit with the wanted precision; negative where there is none.
// Fails as exits::thresholds_for_precision() does.
Result<std::vector<double>> thresholds_from(const std::vector<Lesson>& lessons,
                                            const exits::WantedPrecision& wanted);
// What a face costs on the average with these thresholds, as the lessons say. REQUIRES: a cost for
// every exit.
double expected_cost(const std::vector<Lesson>& lessons, const std::vector<double>& thresholds,
                     const CascadeCosts& costs);

// Thread-compatible.
class Cascade {
 public:
  // REQUIRES: costs.exits names every exit; thresholds are as many, or none.
  explicit Cascade(CascadeOptions options);

  // Who a face is. Fails as the functions do.
  Result<FaceAnswer> recognise(const ExitFunction& exit, const OracleFunction& oracle);

  // Forgets a person.
  void forget(const std::string& person) { recent_.forget(person); }

  // The present thresholds; empty while they are learned.
  const std::vector<double>& thresholds() const { return thresholds_; }
  // The people it remembers.
  const RecentFaces& recent() const { return recent_; }
  // What it did so far.
  const CascadeFigures& figures() const { return figures_; }

 private:
  size_t exits() const { return options_.costs.exits.size(); }
  int64_t whole_cost() const;
  void spend(int64_t cost);
  Result<FaceAnswer> ask_oracle(const OracleFunction& oracle, std::vector<Embedding> faces);
  Result<FaceAnswer> lesson(const ExitFunction& exit, const OracleFunction& oracle);
  Result<FaceAnswer> early(const ExitFunction& exit, const OracleFunction& oracle);
  Result<FaceAnswer> checked(const FaceAnswer& found, std::vector<Embedding> faces,
                             const ExitFunction& exit, const OracleFunction& oracle);
  void learn();

  CascadeOptions options_;
  RecentFaces recent_;
  std::vector<double> thresholds_;
  std::vector<Lesson> lessons_;
  size_t early_ = 0, checked_ = 0, wrong_ = 0;  // since the thresholds were learned
  exits::Budget budget_;
  CascadeFigures figures_;
};

}  // namespace shoal::faces

#pragma GCC visibility pop

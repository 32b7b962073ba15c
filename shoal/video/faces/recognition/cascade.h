// Cascade: exits of a cheap network in front of an oracle that knows all people [Huynh 2019, 5].
//
//   for exit i: f[i] = the embedding there
//               if a recent person is within T[i] of f[i]: the answer
//   else the oracle's answer, which is remembered at all exits
//
// Thresholds T are given, or learned from samples in which a face goes through all exits and the
// oracle. A sample gives each exit's distance to the nearest recent person, whether that is the
// oracle's answer, and the distance to the nearest other person, the answer if the face were new.
// T[i] is the largest threshold for which enough samples show, at some risk, the wanted share of
// agreement with the oracle (shrink/exits/thresholds/thresholds.h), over known and new faces
// together; an exit without one stays off. Some early answers are checked, and too many wrong ones
// restart learning.
//
// Total costs stay within `slack` of those of the oracle alone
// (shrink/exits/thresholds/thresholds.h): a face that may not cost the exits and the oracle goes to
// the oracle at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
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
  size_t audit = 20;    // every n-th early answer is checked
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

  // The cost of the oracle alone over the actual cost.
  double speedup() const {
    return cost > 0 ? static_cast<double>(alone) / static_cast<double>(cost) : 1;
  }
};

// A face's embedding at an exit, asked for in order; and the oracle's answer.
using ExitFunction = std::function<Result<Embedding>(size_t exit)>;
using OracleFunction = std::function<Result<std::optional<std::string>>()>;

// A learning sample: at each exit, the distance of the nearest recent person, whether that was
// right, and the distance of the nearest wrong one.
struct Lesson {
  std::vector<double> distances = {};  // by exit
  std::vector<bool> right = {};
  std::vector<double> others = {};
};
// Pure: the largest distance for each exit with the wanted precision; negative if there is none.
// Fails as exits::thresholds_for_precision() does.
Result<std::vector<double>> thresholds_from(const std::vector<Lesson>& lessons,
                                            const exits::WantedPrecision& wanted);
// The expected cost of a face with these thresholds, by the samples. REQUIRES: a cost for every
// exit.
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
  Result<FaceAnswer> checked(const FaceAnswer& face_answer, std::vector<Embedding> faces,
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

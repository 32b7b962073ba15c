// Specialiser: when a small network for the classes that are seen now is made, and when it is given
// up [Han 2016]. The small one answers first, the general one where it does not:
//
//   E[cost] = cost_s + p_fall * cost_g,   which pays iff   p_fall < 1 - cost_s / cost_g
//
// A network is wanted once few classes have been seen for a while (class_watch.h). It is given up
// when p_fall reaches the break-even, or when most answers are of other classes than its own. It
// decides without I/O: answers and time in, advice out.
//
//   Specialiser specialiser(classes, {});
//   specialiser.note(answer, now);
//   const SpecialAdvice advice = specialiser.advise(share of falls, break_even(option), now);
//   if (advice.kind == SpecialAdvice::Kind::kMake) ... then specialiser.made() or failed(now)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shoal/variants/scheduler/class_watch.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::schedule {

struct SpecialiserOptions {
  ClassWatchOptions watch = {};
  double margin = 0.05;        // of p_fall below the break-even, where the network is given up
  double least_covered = 0.6;  // of recent answers, by its classes
  double pause = 60;           // seconds after a failure, or a network that was given up
};

struct SpecialAdvice {
  enum class Kind : uint8_t { kNothing, kMake, kRetire };
  Kind kind = Kind::kNothing;
  std::vector<size_t> classes = {};  // of the network to make or to give up
  std::string why = {};              // a line for the log
};

// The share of answers by the general network above which a special one does not pay. REQUIRES: the
// option has a fallback.
double break_even(const Option& special);

class Specialiser {
 public:
  explicit Specialiser(size_t classes, const SpecialiserOptions& options = {});

  // An answer, whichever network gave it. Times ascend.
  void note(size_t answer, double now) { watch_.note(answer, now); }

  // What to do now. After kMake it advises nothing until made() or failed() is called. `falls` and
  // `break_even` count only while a network is in use.
  SpecialAdvice advise(double falls, double break_even, double now);
  // A network for these classes is in use; or there is none, for now.
  void made(std::vector<size_t> classes) {
    classes_ = std::move(classes);
    state_ = State::kInUse;
  }
  void failed(double now);

  bool in_use() const { return state_ == State::kInUse; }
  const std::vector<size_t>& classes() const { return classes_; }  // of the last one

 private:
  enum class State : uint8_t { kNone, kWanted, kInUse };

  SpecialiserOptions options_;
  ClassWatch watch_;
  State state_ = State::kNone;
  std::vector<size_t> classes_;
  double not_before_ = 0;  // seconds
};

}  // namespace shoal::schedule

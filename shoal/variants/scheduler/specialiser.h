// Specialiser: when to make and to give up a small network for the current classes [Han 2016]. The
// small one answers first, the general one if it does not:
//
//   E[cost] = cost_s + p_fall * cost_g,   which pays iff   p_fall < 1 - cost_s / cost_g
//
// A network is wanted once few classes have been seen for a while, and given up when p_fall reaches
// the break-even, or most answers are of other classes. No I/O: answers and time in, advice out.
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

#include "shoal/variants/scheduler/task.h"

namespace shoal::schedule {

// ClassWatch: whether few classes are seen at present, so that a special network pays [Han 2016].
//
//   K* = the smallest set of classes with a share rho of the recent answers
//
// It calls for a special network once K* has been small for a while. A value; no I/O.

struct ClassWatchOptions {
  double covered = 0.9;  // rho
  size_t most = 10;      // classes that are few
  double memory = 500;   // answers until one counts e times less
  double seconds = 60;   // for which they must have been few
};

class ClassWatch {
 public:
  explicit ClassWatch(size_t classes, const ClassWatchOptions& options = {});

  // An answer; one of another class than these is none. Times ascend.
  void note(size_t answer, double now);
  // The current classes, ascending; empty unless they have been few for long enough.
  std::vector<size_t> few() const;
  // The share of recent answers that are of these classes.
  double share_of(const std::vector<size_t>& classes) const;

 private:
  std::vector<size_t> covering() const;  // the most frequent first, one more than few at most

  ClassWatchOptions options_;
  // Instead of all counts fading, a later answer weighs more.
  std::vector<double> counts_;
  double all_ = 0, weight_ = 1;
  double answers_ = 0, now_ = 0, few_since_ = 0;
  bool are_few_ = false;
};

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

// The share of the general network's answers above which a special one does not pay. REQUIRES: the
// option has a fallback.
double break_even(const Option& special);

class Specialiser {
 public:
  explicit Specialiser(size_t classes, const SpecialiserOptions& options = {});

  // An answer, whichever network gave it. Times ascend.
  void note(size_t answer, double now) { watch_.note(answer, now); }

  // What to do now; nothing after kMake until made() or failed() is called. `falls` and
  // `break_even` matter only while a network is in use.
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

// ClassWatch: whether few classes are seen at present, so that a small network for them pays
// [Han 2016].
//
//   K* = the smallest set of classes with a share rho of the recent answers
//
// It calls for a special network once K* has been small for a while. A value; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::schedule {

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
  // The classes that are seen now, ascending; empty while they are not few, or not for long enough.
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

}  // namespace shoal::schedule

// Recent faces: a running mean embedding of each person at each exit, of the people seen last
// [Huynh 2019, 5].
//
//   mean[i][person] = f[i]                                     of a person that is new there
//                     (1 - alpha) mean[i][person] + alpha f[i]  else
//
// for the exits i that were computed. The database is bounded: the person seen longest ago is
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/video/faces/recognition/embedding.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// How to remember. A value.
struct RecentOptions {
  size_t most = 64;          // people
  double alpha = 1.0 / 15;   // weight of a new face
  bool first_match = false;  // the first person that is near enough, not the nearest: the seed's
                             // rule, a control
};

// Somebody, and how far away.
struct Match {
  std::string person = {};
  double distance = 0;
};

// A value. Thread-compatible.
class RecentFaces {
 public:
  // Nobody is known.
  explicit RecentFaces(const RecentOptions& options = {}) : options_(options) {}

  // The person that a face is: of those within `threshold`, but for `except`, the nearest, or the
  // first.
  std::optional<Match> match(size_t exit, std::span<const float> face, double threshold,
                             const std::string& except = {}) const;

  // A person was seen, with the embeddings of the first so many exits. Embeddings of another size
  // than before replace what was there.
  void update(const std::string& person, std::span<const Embedding> faces);

  // Forgets a person; whether there was one.
  bool forget(const std::string& person);

  // How many people there are.
  size_t size() const { return people_.size(); }
  // A person's mean; null where there is none. Valid until the next change.
  const Embedding* mean(const std::string& person, size_t exit) const;

 private:
  struct Person {
    std::string name;
    std::vector<Embedding> means;  // by exit; those not seen yet are missing at the end
    uint64_t seen = 0;             // when
  };

  RecentOptions options_;
  std::vector<Person> people_;  // in the order in which they came
  uint64_t now_ = 0;
};

}  // namespace shoal::faces

#pragma GCC visibility pop

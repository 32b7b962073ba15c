// Recent faces: a running mean embedding of each person at each exit, of the people seen last
// [Huynh 2019, 5].
//
//   mean[i][person] = f[i]                                     of a person that is new there
//                     (1 - alpha) mean[i][person] + alpha f[i]  else
//
// for the computed exits i. Bounded: the person seen longest ago is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::faces {

// Of length 1, or a mean of such.
using Embedding = std::vector<float>;

// A vector at length 1; one without a direction (zero, or not finite) becomes zero.
Embedding normalised(std::span<const float> v);

// The square of the Euclidean distance: 2 - 2 cosine for vectors of length 1. REQUIRES: as many
// elements.
double distance(std::span<const float> a, std::span<const float> b);

// The mean moves towards a new vector: (1 - alpha) mean + alpha v. REQUIRES: as many elements.
void move_mean(Embedding& mean, std::span<const float> v, double alpha);

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

  // The person of a face: the nearest, or the first, within `threshold`, except `except`.
  std::optional<Match> match(size_t exit, std::span<const float> face, double threshold,
                             const std::string& except = {}) const;

  // Records that a person was seen, with the embeddings of the first exits. Embeddings of another
  // size replace the old.
  void update(const std::string& person, std::span<const Embedding> faces);

  // Forgets a person; whether there was one.
  bool forget(const std::string& person);

  // How many people there are.
  size_t size() const { return people_.size(); }
  // A person's mean; null if there is none. Valid until the next change.
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

// Face database: the enrolled people, each as the mean of their embeddings.
//
// Bounded: an enrolled person stays until forget(), and a full database refuses new ones. In a file
// it is a JSON object, readable by its owner only:
//
//   {"format": "shoal-faces-1", "model": "<16 hexadecimal digits>", "dims": 128, "threshold": 1.4,
//    "people": [{"name": "Ada", "faces": 3, "sum": [...]}]}
//
// where `model` tells embeddings of different networks apart, and `sum` is that of the embeddings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/faces/recognition/recent_faces.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// An enrolled person.
struct Person {
  std::string name = {};
  size_t faces = 0;         // that were enrolled
  std::vector<double> sum;  // of their embeddings

  friend bool operator==(const Person&, const Person&) = default;
};

// A value. Thread-compatible.
class FaceDatabase {
 public:
  static constexpr size_t kMost = 100'000;        // people
  static constexpr size_t kLongestName = 256;     // bytes
  static constexpr size_t kMostDims = 16'384;     // of an embedding
  static constexpr double kUsualThreshold = 1.4;  // cosine 0.3

  // Nobody, with embeddings of the network of this number.
  explicit FaceDatabase(uint64_t model = 0, size_t most = kMost) : model_(model), most_(most) {}

  // Adds a face of a new or known person. kInvalidArgument for a name that is empty, too long or
  // has control characters, and for an embedding of another size or without a direction; kExhausted
  // if the database is full.
  Status enrol(const std::string& name, std::span<const float> face);
  // Returns whether there was such a person.
  bool forget(const std::string& name);
  // The nearest person within the threshold.
  std::optional<Match> who(std::span<const float> face) const;
  // The nearest person at any distance.
  std::optional<Match> nearest(std::span<const float> face) const;

  // All people, in the order of their names.
  const std::vector<Person>& people() const { return people_; }
  // The number of the network.
  uint64_t model() const { return model_; }
  // The squared distance up to which a face is a known person's.
  double threshold() const { return threshold_; }
  // kInvalidArgument unless it is between 0 and 4, which is the most there can be.
  Status set_threshold(double threshold);

  friend bool operator==(const FaceDatabase&, const FaceDatabase&) = default;

 private:
  friend Result<FaceDatabase> parse_database(std::string_view text);
  Status add(Person person);

  uint64_t model_ = 0;
  size_t most_ = kMost, dims_ = 0;
  double threshold_ = kUsualThreshold;
  std::vector<Person> people_;
};

// The text of a file, and back. Untrusted text is kCorrupt, or a possible database.
std::string to_text(const FaceDatabase& database);
Result<FaceDatabase> parse_database(std::string_view text);

// Replaces and reads a file atomically. kNotFound if there is none.
Status save(const FaceDatabase& database, const std::filesystem::path& file);
Result<FaceDatabase> load_database(const std::filesystem::path& file);

}  // namespace shoal::faces

#pragma GCC visibility pop

// Index: objects of a video by the labels they may have, alike ones together [Huynh 2019, 5].
//
// For every label of an object it goes into the nearest of that label's clusters, if its features
// are within a distance of the cluster's mean, else into a new one. At most `open` clusters of a
// label grow at a time: the one that was joined longest ago is closed then, and stays in the index.
// A query verifies one object of a cluster, its first, and takes its answer for all of them.
//
// In a file it is a JSON object:
//
//   {"format": "shoal-query-1", "source": "street.mp4", "frames": 1000, "classes": 80,
//    "thresholds": [0.9, 2], "clusters": [{"label": 2, "first": 17, "frames": [17, 18], "exits":
//    [[2, 0.7], [2, 0.9]]}]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/query/labels.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// What an exit says of an object: its best class.
struct ExitAnswer {
  int64_t label = 0;
  double probability = 0;

  friend bool operator==(const ExitAnswer&, const ExitAnswer&) = default;
};

// Of each exit. Scores that sum up to 1 are probabilities already.
std::vector<ExitAnswer> answers_of(const ExitScores& scores);

// Objects that are alike.
struct Cluster {
  int64_t label = 0;
  int64_t first = 0;                   // the frame of the object that stands for all
  std::vector<int64_t> frames = {};    // of all objects, ascending, each once
  std::vector<ExitAnswer> exits = {};  // what they say of the first object

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

// A whole index. A value.
struct Index {
  std::string source = {};
  int64_t frames = 0, classes = 0;
  std::vector<double> thresholds = {};  // of exits; none: they decide nothing
  std::vector<Cluster> clusters = {};

  friend bool operator==(const Index&, const Index&) = default;
};

// How alike is alike. A value.
struct ClusterOptions {
  double distance = 0.1;  // squared, between features of length 1
  size_t open = 100;      // clusters of a label that grow
};

// Makes the clusters of an index. Thread-compatible.
class Indexer {
 public:
  // Nothing is indexed yet.
  explicit Indexer(const ClusterOptions& options = {}) : options_(options) {}

  // One more object, of a frame that is not before the last. REQUIRES: features are of one size.
  void add(int64_t frame, std::span<const int64_t> labels, std::span<const float> features,
           const std::vector<ExitAnswer>& exits);

  // How often an object was put into a cluster.
  size_t entries() const { return entries_; }
  // The clusters, in the order in which they began.
  const std::vector<Cluster>& clusters() const { return clusters_; }

 private:
  struct Open {
    size_t cluster;  // its number
    std::vector<float> mean;
    double count = 0;
    size_t joined = 0;  // when
  };

  ClusterOptions options_;
  std::vector<Cluster> clusters_;
  std::map<int64_t, std::vector<Open>> open_;  // by label
  size_t entries_ = 0;
};

// The text of a file, and back: hostile text is kCorrupt, or an index that could be.
std::string to_text(const Index& index);
Result<Index> parse_index(std::string_view text);

// The file: all of it new, or as it was. kNotFound where there is none.
Status save(const Index& index, const std::filesystem::path& file);
Result<Index> load_index(const std::filesystem::path& file);

}  // namespace shoal::query

#pragma GCC visibility pop

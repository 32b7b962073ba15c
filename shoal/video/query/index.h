// Index: objects of a video by the labels they may have, alike ones together [Huynh 2019, 5].
//
// An object goes, for each of its labels, into the nearest of the label's clusters if its features
// are within a distance of the mean, else into a new one. At most `open` clusters of a label grow
// at a time: the least recently joined is closed then. A query verifies the first object of a
// cluster and takes the answer for all.
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// Labels of an object in an index: what a cheap classifier with exits may have seen.
//
//   R(x) = union over the exits j of J of the best k classes of exit j        [Huynh 2019, 5]
//
// It has k labels if the exits agree, and up to |J| k otherwise. The index is as large as the sum
// of |R|. (k, J) is chosen on labelled examples: the smallest sum with which R has the true label
// of the wanted share of examples. J is the first exits up to some number, or one exit alone, as in
// Focus.

// Scores of all classes at each exit, the last classifier's last.
using ExitScores = std::vector<std::vector<float>>;

// Which labels go into the index. A value.
struct LabelConfig {
  size_t k = 1;
  size_t first = 0, exits = 1;  // the exits [first, first + exits)

  friend bool operator==(const LabelConfig&, const LabelConfig&) = default;
};

// R(x), in ascending order. Of equal scores the lower class is better; NaN is the worst. Exits that
// are not there are left out.
std::vector<int64_t> labels_of(const ExitScores& scores, const LabelConfig& config);

// An object whose class is known.
struct Example {
  ExitScores scores = {};
  int64_t label = 0;
};

// What a configuration does to examples.
struct LabelFigures {
  LabelConfig config = {};
  double recall = 0;   // share of examples whose label is in R
  size_t entries = 0;  // the sum of |R|
};
// Pure.
LabelFigures figures_of(std::span<const Example> examples, const LabelConfig& config);

// Which configurations may be chosen.
enum class LabelChoice : uint8_t {
  kPrefixes,  // the first n exits
  kOneExit,   // one exit alone, the control
};
// The configuration with the fewest entries, k up to `most_k`, with at least this recall; of equals
// the one with fewer exits. nullopt if there is none.
std::optional<LabelFigures> choose_labels(std::span<const Example> examples, LabelChoice choice,
                                          double recall = 0.99, size_t most_k = 6);

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

// The text of a file, and back. Untrusted text is kCorrupt, or a possible index.
std::string to_text(const Index& index);
Result<Index> parse_index(std::string_view text);

// Replaces and reads a file atomically. kNotFound if there is none.
Status save(const Index& index, const std::filesystem::path& file);
Result<Index> load_index(const std::filesystem::path& file);

}  // namespace shoal::query

#pragma GCC visibility pop

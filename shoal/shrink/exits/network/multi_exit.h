// A multi-exit network: a classifier with further classifiers, its exits, at values on the way. An
// exit that is confident answers, and what lies behind it need not run (Teerapittayanon et al.
// 2016, BranchyNet).
//
// In a file the first output is the classifier's own, so that a program that knows of no exits sees
// the classifier as it was. The exits are outputs after it, and metadata_props name them:
//
//   shoal.exits             2
//   shoal.exit.1.at         the value that the first exit reads
//   shoal.exit.1.scores     the output that holds its scores
//   shoal.exit.1.threshold  the probability from which on it answers; above 1: never
//   shoal.exit.1.top1       percent of test examples that it answers right alone, if that is known
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// The threshold of an exit that never answers: no probability reaches it.
inline constexpr double kNever = 2;

// A classifier on the way to the last one.
struct Exit {
  std::string at = {};        // the value that it reads
  std::string scores = {};    // the output of its scores, before a Softmax
  double threshold = kNever;  // the probability of its best class from which on it answers
  double top1 = 0;            // percent of test examples that it answers right alone; 0: unknown
};

// A network with exits. A value.
struct MultiExit {
  // One input [batch, ...]; outputs [batch, classes]: the last classifier's, then those of exits.
  Graph graph = {};
  std::vector<Exit> exits = {};           // from the first one on the way to the last
  std::vector<std::string> outputs = {};  // names of the outputs in a file, in the graph's order
};

// The same network for batches of any size.
using MultiExitForBatch = std::function<Result<MultiExit>(int64_t batch)>;

// The metadata that names these exits.
std::map<std::string, std::string> properties_of(const std::vector<Exit>& exits);

// The exits that metadata names; none where it does not speak of exits. kCorrupt where it does, but
// not as properties_of() would write it.
Result<std::vector<Exit>> exits_in(const std::map<std::string, std::string>& properties);

// The multi-exit network in a model, for batches of this size. kInvalidArgument if the model names
// no exits, kCorrupt if it names exits that it does not have.
Result<MultiExit> load_multi_exit(const Model& model, int64_t batch);

// The same as a function. `model` outlives the result.
MultiExitForBatch multi_exit_in(const Model& model);

// The form of exits. A value.
struct HeadOptions {
  // What an exit computes of an image of features before its Gemm.
  enum class Kind {
    kPool,  // the mean over the image: nearly nothing, and enough for late features
    kConv   // convolutions of stride 2, then the mean: a few percent of a network's work
  };
  Kind kind = Kind::kConv;  // which of them
  bool aggregate = true;    // an exit reads the features of the exit before it, too
  uint64_t seed = 1;        // of the weights to begin with
};

}  // namespace shoal::exits

#pragma GCC visibility pop

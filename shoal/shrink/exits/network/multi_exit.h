// A multi-exit network: a classifier with earlier classifiers, its exits. If an exit is confident,
// the rest need not run (Teerapittayanon et al. 2016, BranchyNet).
//
// In a file the first output is the classifier's own, for programs that know nothing of exits. The
// exits are further outputs, named in metadata_props:
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

// The exits named in metadata; empty if there are none. kCorrupt if they are not as properties_of()
// writes them.
Result<std::vector<Exit>> exits_in(const std::map<std::string, std::string>& properties);

// The multi-exit network in a model, for batches of this size. kInvalidArgument if the model names
// no exits, kCorrupt if it lacks exits that it names.
Result<MultiExit> load_multi_exit(const Model& model, int64_t batch);

// The same as a function. `model` outlives the result.
MultiExitForBatch multi_exit_in(const Model& model);

// The form of exits. A value.
struct HeadOptions {
  // What an exit computes before its Gemm.
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

// What a MODEL argument names, and the flags every command that runs a model shares.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cli.h"
#include "parser.h"
#include "shoal/base/status.h"
#include "shoal/data/image.h"
#include "shoal/device/device.h"
#include "shoal/session/session.h"

namespace shoal::cli {

constexpr const char* kDefaultModel = "zoo:digits";

// The flags that say which model runs on what.
struct ModelFlags {
  std::string model = kDefaultModel;
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the machine has
  bool pin = false;
  double share = 1;
  bool optimize = true;
  std::string tune = "fast";
  std::string memory = "plenty";  // or low, or a size where `learns` allows one
  std::string packed;             // empty: not kept
  std::string instructions;       // empty: the best the processor has
  std::string kernel;             // empty: the fastest

  void add_to(CLI::App& command, bool model_required, bool learns = false);
  int64_t memory_limit() const;  // in bytes; 0: none was given
};

Result<std::unique_ptr<Device>> make_device(const ModelFlags& flags);
Result<Session> open_session(const ModelFlags& flags, Device& device);

// What a model that could not be run says to scripts: only workers can be cut off or late.
Exit exit_of_run(const Status& status);
// What a cluster that could not be opened does: there is none, or it does not answer.
Exit exit_of_cluster(const Status& status);

// A model's graph as loaded, and what the model calls its outputs: their values may have other
// names, for an output can be an input too.
struct LoadedGraph {
  Graph graph;
  std::vector<std::string> outputs;
};

// For these shapes ("x=1x3x224x224"); dimensions left open are 1.
Result<LoadedGraph> load_graph(const std::string& model, const std::vector<std::string>& shapes);

// Seeded random inputs of the model's shapes; dimensions left open are 1 unless `shapes` says.
Result<Session::Tensors> random_inputs(const Session& session,
                                       const std::vector<std::string>& shapes);

Tensor random_tensor(const TensorType& type, std::mt19937& rng);

bool is_image(const std::filesystem::path& path);  // by its extension

// An image made into what an input takes: channels, size and layout where it declares them.
Result<Tensor> prepare_image(const Tensor& image, const InputInfo& input, Preprocess how);

}  // namespace shoal::cli

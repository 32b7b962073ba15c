// Autotuning: chooses the fastest of the kernels that can compute a node by running them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/device/device.h"

namespace shoal::cpu {

// Trial: made-up tensors for a node, and the times that kernels take with them.

// A tensor to time kernels with. Times do not depend on the elements unless they are all zero or
// denormal.
Tensor made_up(const TensorType& type);

// Not thread-safe.
class Trial {
 public:
  // Touches `others` before each run, as the other nodes of the network touch their memory between
  // two runs of this one. REQUIRES: others is not empty; it outlives the trial.
  Trial(const KernelSpec& spec, std::span<uint8_t> others);

  double microseconds(const Kernel& kernel, ThreadPool& pool);

 private:
  void prepare_caches();

  ThreadPool& all_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<bool> is_constant_;
  std::vector<std::byte> scratch_;
  std::span<uint8_t> others_;
};

// The kernel chosen for a node, and its threads: the device's, or only the caller for short nodes.
// The pool outlives the kernel.
struct Choice {
  std::unique_ptr<Kernel> kernel;
  KernelInfo info;
  ThreadPool* pool = nullptr;
};

// Tuner of one device. Nodes of the same kind are measured once per process, or once for all
// processes if there is a file. The file holds one line per kind of node; lines that cannot be
// read, and those that a busy machine left undecided, are measured again. Not thread-safe: the
// device holds its lock.
class Tuner {
 public:
  Tuner(const CpuOptions& options, std::filesystem::path file);  // empty path: no file

  const CpuOptions& options() const { return options_; }
  // Begins choosing the kernels of a network, whose runs touch `touched` bytes: weights and outputs
  // of nodes.
  void begin(int64_t touched);
  // Never fails: the reference kernel fits every node.
  Choice choose(const KernelSpec& spec);
  // Whether a race since begin() was lost by the kernel and threads of the best estimate.
  bool has_surprises() const { return !surprises_.empty(); }
  // The network is faster with the estimates' choices: forgets these races, which are run again for
  // the next network that needs them.
  void doubt();

  // Writes new timings to the file. Errors are ignored: the next process will measure again.
  void remember();

 private:
  struct Candidate {
    const Provider* provider;
    ThreadPool* pool;
  };
  using Candidates = std::vector<Candidate>;

  struct Competitors {
    std::vector<const Provider*> providers;  // the cheapest first
    std::string costs;                       // as a part of a key: about how many times the least
  };

  // The outcome of a race. If it is believed, it holds for any network of the same size.
  struct Known {
    KernelInfo info;
    bool believed = false;
  };

  std::vector<ThreadPool*> pools_for(const KernelSpec& spec) const;
  Competitors competitors(const KernelSpec& spec) const;
  int64_t others_of(const KernelSpec& spec) const;
  Known race(const KernelSpec& spec, const Candidates& candidates, Choice& choice);
  void recall();

  const CpuOptions options_;
  const std::filesystem::path file_;
  std::map<std::string, Known, std::less<>> known_;  // by key_of(node)
  std::set<std::string, std::less<>> fresh_;         // keys measured by this process
  std::vector<std::string> surprises_;               // keys whose race a favourite lost
  int64_t touched_ = 0;                              // by a run of the network
  std::vector<uint8_t> others_;                      // touched before a timing
  bool is_changed_ = false;                          // known_ differs from the file
};

// File of timings for this processor and instruction set, in the user's cache folder. Empty if the
// environment names no such folder.
std::filesystem::path tuning_file();

}  // namespace shoal::cpu

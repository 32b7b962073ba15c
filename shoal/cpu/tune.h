// Autotuning: chooses the fastest of the kernels that can compute a node by running them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cpu/cpu.h"
#include "shoal/cpu/kernel.h"
#include "shoal/device/device.h"

namespace shoal::cpu {

// The kernel chosen for a node.
struct Choice {
  std::unique_ptr<Kernel> kernel;
  KernelInfo info;
};

// Tuner of one device. Nodes of the same kind are measured once per process, or once for all
// processes if there is a file. The file holds one line per kind of node; lines that cannot be read
// are measured again. Not thread-safe: the device holds its lock.
class Tuner {
 public:
  Tuner(const CpuOptions& options, std::filesystem::path file);  // empty path: no file

  const CpuOptions& options() const { return options_; }
  // Never fails: the reference kernel fits every node.
  Choice choose(const KernelSpec& spec);

  // Writes new timings to the file. Errors are ignored: the next process will measure again.
  void remember();

 private:
  struct Candidate {
    const Provider* provider;
    double cost;
  };
  using Candidates = std::vector<Candidate>;

  Candidates competitors(const KernelSpec& spec) const;
  Choice race(const KernelSpec& spec, const Candidates& candidates);
  void recall();

  const CpuOptions options_;
  const std::filesystem::path file_;
  std::map<std::string, KernelInfo, std::less<>> known_;  // by key_of(node)
  std::set<std::string, std::less<>> fresh_;              // keys measured by this process
  std::vector<uint8_t> others_;                           // evicts the caches before a timing
  size_t remembered_ = 0;                                 // of fresh_: how many are in the file
};

// File of timings for this processor and instruction set, in the user's cache folder. Empty if the
// environment names no such folder.
std::filesystem::path tuning_file();

}  // namespace shoal::cpu

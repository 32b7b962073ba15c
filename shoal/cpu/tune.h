// Tuning: which of the kernels that can compute a node computes it soonest, found by running them.
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

struct Choice {
  std::unique_ptr<Kernel> kernel;
  KernelInfo info;
  KernelTiming timing = {};  // of a kernel that was measured
};

// Of one device: nodes of the same kind are measured once, and once for all processes where
// there is a file to remember it in. The file holds one line per kind of node; what cannot be read
// there is measured again.
class Tuner {
 public:
  Tuner(const CpuOptions& options, std::filesystem::path file);  // no file: an empty path

  const CpuOptions& options() const { return options_; }
  Choice choose(const KernelSpec& site);

  // Writes down what was measured since the last time. Failing to is no failure: the next process
  // will measure again.
  void remember();

 private:
  struct Candidate {
    const Provider* provider;
    double cost;
  };
  using Candidates = std::vector<Candidate>;

  Candidates competitors(const KernelSpec& site) const;
  Choice race(const KernelSpec& site, const Candidates& candidates);
  void recall();

  const CpuOptions options_;
  const std::filesystem::path file_;
  struct Measured {
    std::string name;
    KernelTiming timing;
  };
  std::map<std::string, Measured, std::less<>> known_;  // by what the node is
  std::set<std::string, std::less<>> fresh_;            // those measured by this process
  std::vector<uint8_t> others_;                         // what else would be in the caches
  size_t remembered_ = 0;                               // of them
};

// The file for this machine's processor in the user's folder for caches; empty if there is none.
std::filesystem::path tuning_file();

}  // namespace shoal::cpu

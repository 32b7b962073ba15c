// TogetherSettings: flags for training one network on several workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shoal::learn {

struct TogetherSettings {
  std::string network = {};  // "own" or "mpi"; empty: this machine alone
  int64_t steps = 0;         // 0: by the number of epochs
  std::string codec = "f32";
  int64_t micro_batches = 8;
  bool all_workers = false, let_sleep = false;
  bool measured = false, fixed = false;  // shares
  double slack = 0;
  double straggler = 1;  // in each step a different emulated worker takes this many times as long

  // Whether shares stay as planned; nullopt: as codec and checkpoints require. `fixed` wins.
  std::optional<bool> fixed_shares() const;
  // log2 of the number of micro-batches.
  int levels() const;
};

}  // namespace shoal::learn

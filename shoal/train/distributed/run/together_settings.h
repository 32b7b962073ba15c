// TogetherSettings: how the workers of a cluster train one network, in words, as flags say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shoal::learn {

struct TogetherSettings {
  std::string network = {};  // "own" or "mpi"; empty: this machine alone
  int64_t steps = 0;         // 0: as many as the epochs have
  std::string codec = "f32";
  int64_t micro_batches = 8;
  bool all_workers = false, let_sleep = false;
  bool measured = false, fixed = false;  // shares
  double slack = 0;
  double straggler = 1;  // in each step another emulated worker takes this many times as long

  // Whether shares stay as planned; nothing: as the codec and checkpoints demand. Fixed ones win.
  std::optional<bool> fixed_shares() const;
  // Of the micro-batches, which are a power of two.
  int levels() const;
};

}  // namespace shoal::learn

// RunningHash: hash_of() (wire.h), computed incrementally.
#pragma once

#include <memory>
#include <span>

#include "shoal/cluster/messages/wire.h"

struct evp_md_ctx_st;

namespace shoal::cluster {

// Not thread-safe.
class RunningHash {
 public:
  RunningHash();
  void add(std::span<const std::byte> bytes);
  Hash finish();  // once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace shoal::cluster

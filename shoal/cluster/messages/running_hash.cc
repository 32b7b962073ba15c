#include "shoal/cluster/messages/running_hash.h"

#include <openssl/evp.h>

namespace shoal::cluster {

// These calls fail only without memory, or without SHA-256, which TLS needs anyway.
RunningHash::RunningHash() : context_(EVP_MD_CTX_new()) {
  SHOAL_CHECK(context_ != nullptr);
  SHOAL_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void RunningHash::add(std::span<const std::byte> bytes) {
  SHOAL_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Hash RunningHash::finish() {
  Hash hash(kHashBytes, '\0');
  SHOAL_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(hash.data()),
                                 nullptr) == 1);
  return hash;
}

void RunningHash::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

}  // namespace shoal::cluster

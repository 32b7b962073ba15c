// An OpenSSL provider with one algorithm, AES-128-GCM. OpenSSL drives it through a table of C
// functions, so every size and every order of calls is checked here: an IV that served two messages
// would break GCM.
#include "shoal/cluster/net/tls/wide_aes.h"

#if SHOAL_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <span>

namespace shoal::net {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr size_t kIvBytes = 12;  // the only length TLS has, and the fast one
constexpr size_t kTagBytes = 16;

// The library's functions for this CPU; nullptr unless it is one that OpenSSL has no code for.
IMB_MGR* library() {
  static IMB_MGR* const manager = []() -> IMB_MGR* {
    IMB_MGR* made = alloc_mb_mgr(0);
    if (made == nullptr) return nullptr;
    init_mb_mgr_auto(made, nullptr);  // runs the library's self-test
    constexpr uint64_t kWide = IMB_FEATURE_AVX512_SKX | IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
    if (imb_get_errno(made) == 0 && (made->features & kWide) == kWide) return made;
    free_mb_mgr(made);
    return nullptr;
  }();
  return manager;
}

// One message after another under one key. OpenSSL decides the order of calls and checks little of
// it: an IV serves one message, and additional data come before the text.
class Cipher {
 public:
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  ~Cipher() { OPENSSL_cleanse(this, sizeof *this); }

  bool begin(bool encrypts, std::span<const uint8_t> key, std::span<const uint8_t> iv) {
    encrypts_ = encrypts;
    if (!key.empty()) {
      if (key.size() != kKeyBytes) return false;
      IMB_AES128_GCM_PRE(library(), key.data(), &key_);
      has_key_ = true;
      stage_ = Stage::kNoIv;
    }
    if (!iv.empty()) {
      if (iv.size() != kIvBytes) return false;
      std::ranges::copy(iv, iv_.begin());
      stage_ = Stage::kFresh;
      has_tag_ = false;
    }
    return true;
  }

  bool authenticate(std::span<const uint8_t> bytes) {
    if (!has_key_ || stage_ != Stage::kFresh) return false;
    IMB_AES128_GCM_INIT(library(), &key_, &message_, iv_.data(), bytes.data(), bytes.size());
    stage_ = Stage::kBegun;
    return true;
  }

  // `out` may be where `in` is.
  bool update(uint8_t* out, std::span<const uint8_t> in) {
    if (stage_ == Stage::kFresh && !authenticate({})) return false;
    if (stage_ != Stage::kBegun) return false;
    if (encrypts_)
      IMB_AES128_GCM_ENC_UPDATE(library(), &key_, &message_, out, in.data(), in.size());
    else
      IMB_AES128_GCM_DEC_UPDATE(library(), &key_, &message_, out, in.data(), in.size());
    return true;
  }

  // False: the tag does not match, and the decrypted bytes must not be used.
  bool finish() {
    if (stage_ == Stage::kFresh && !authenticate({})) return false;
    if (stage_ != Stage::kBegun || (!encrypts_ && !has_tag_)) return false;
    stage_ = Stage::kNoIv;
    if (encrypts_) {
      IMB_AES128_GCM_ENC_FINALIZE(library(), &key_, &message_, tag_.data(), kTagBytes);
      has_tag_ = true;
      return true;
    }
    std::array<uint8_t, kTagBytes> found;
    IMB_AES128_GCM_DEC_FINALIZE(library(), &key_, &message_, found.data(), kTagBytes);
    // In constant time: the position of the first difference must not show.
    return CRYPTO_memcmp(found.data(), tag_.data(), kTagBytes) == 0;
  }

  bool expect(std::span<const uint8_t> tag) {
    if (encrypts_ || tag.size() != kTagBytes) return false;
    std::ranges::copy(tag, tag_.begin());
    has_tag_ = true;
    return true;
  }

  // The tag of the message that was finished last.
  std::span<const uint8_t> tag() const {
    return encrypts_ && has_tag_ ? std::span<const uint8_t>(tag_) : std::span<const uint8_t>();
  }

 private:
  enum class Stage : uint8_t { kNoIv, kFresh, kBegun };

  gcm_key_data key_;
  gcm_context_data message_;
  std::array<uint8_t, kIvBytes> iv_;
  std::array<uint8_t, kTagBytes> tag_;
  Stage stage_ = Stage::kNoIv;
  bool encrypts_ = true;
  bool has_key_ = false;
  bool has_tag_ = false;
};

// The same as a table of C functions, as OpenSSL wants it: provider-cipher(7).

Cipher& cipher(void* context) { return *static_cast<Cipher*>(context); }

void* new_cipher(void*) { return new (std::nothrow) Cipher; }

void free_cipher(void* context) { delete static_cast<Cipher*>(context); }

int set_cipher(void* context, const OSSL_PARAM params[]) {
  if (const OSSL_PARAM* tag = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
    const void* bytes = nullptr;
    size_t size = 0;
    if (OSSL_PARAM_get_octet_string_ptr(tag, &bytes, &size) != 1) return 0;
    if (!cipher(context).expect({static_cast<const uint8_t*>(bytes), size})) return 0;
  }
  if (const OSSL_PARAM* length = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_IVLEN)) {
    size_t bytes = 0;
    if (OSSL_PARAM_get_size_t(length, &bytes) != 1 || bytes != kIvBytes) return 0;
  }
  return 1;
}

template <bool encrypts>
int begin_cipher(void* context, const unsigned char* key, size_t key_size, const unsigned char* iv,
                 size_t iv_size, const OSSL_PARAM params[]) {
  const std::span<const uint8_t> key_given(key, key == nullptr ? 0 : key_size);
  const std::span<const uint8_t> iv_given(iv, iv == nullptr ? 0 : iv_size);
  if (!cipher(context).begin(encrypts, key_given, iv_given)) return 0;
  return params == nullptr ? 1 : set_cipher(context, params);
}

int update_cipher(void* context, unsigned char* out, size_t* written, size_t room,
                  const unsigned char* in, size_t size) {
  const bool is_encrypted = out != nullptr;
  if (is_encrypted && room < size) return 0;
  *written = is_encrypted ? size : 0;
  const std::span<const uint8_t> bytes(in, size);
  return is_encrypted ? cipher(context).update(out, bytes) : cipher(context).authenticate(bytes);
}

int finish_cipher(void* context, unsigned char*, size_t* written, size_t) {
  *written = 0;
  return cipher(context).finish();
}

// Answers a question if it was asked.
int answer(OSSL_PARAM params[], const char* name, size_t value) {
  OSSL_PARAM* asked = OSSL_PARAM_locate(params, name);
  return asked == nullptr || OSSL_PARAM_set_size_t(asked, value) == 1;
}

int describe_lengths(OSSL_PARAM params[]) {
  return answer(params, OSSL_CIPHER_PARAM_KEYLEN, kKeyBytes) &&
         answer(params, OSSL_CIPHER_PARAM_IVLEN, kIvBytes);
}

int describe_algorithm(OSSL_PARAM params[]) {
  return describe_lengths(params) && answer(params, OSSL_CIPHER_PARAM_MODE, EVP_CIPH_GCM_MODE) &&
         answer(params, OSSL_CIPHER_PARAM_BLOCK_SIZE, 1) &&
         answer(params, OSSL_CIPHER_PARAM_AEAD, 1) &&
         answer(params, OSSL_CIPHER_PARAM_CUSTOM_IV, 1);
}

int describe_cipher(void* context, OSSL_PARAM params[]) {
  if (OSSL_PARAM* asked = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
    const std::span<const uint8_t> tag = cipher(context).tag();
    if (tag.empty() || asked->data_size != kTagBytes) return 0;
    if (OSSL_PARAM_set_octet_string(asked, tag.data(), tag.size()) != 1) return 0;
  }
  return describe_lengths(params) && answer(params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, kTagBytes);
}

const OSSL_PARAM* what_can_be_set(void*, void*) {
  static const OSSL_PARAM params[] = {
      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0),
      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, nullptr), OSSL_PARAM_END};
  return params;
}

const OSSL_PARAM* what_can_be_asked(void*, void*) {
  static const OSSL_PARAM params[] = {
      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, nullptr),
      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, nullptr),
      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0), OSSL_PARAM_END};
  return params;
}

template <class Function>
OSSL_DISPATCH entry(int id, Function* function) {
  return {id, reinterpret_cast<void (*)()>(function)};
}

const OSSL_ALGORITHM* algorithms(void*, int operation, int* no_cache) {
  static const std::array functions = {
      entry(OSSL_FUNC_CIPHER_NEWCTX, &new_cipher),
      entry(OSSL_FUNC_CIPHER_FREECTX, &free_cipher),
      entry(OSSL_FUNC_CIPHER_ENCRYPT_INIT, &begin_cipher<true>),
      entry(OSSL_FUNC_CIPHER_DECRYPT_INIT, &begin_cipher<false>),
      entry(OSSL_FUNC_CIPHER_UPDATE, &update_cipher),
      entry(OSSL_FUNC_CIPHER_FINAL, &finish_cipher),
      entry(OSSL_FUNC_CIPHER_GET_PARAMS, &describe_algorithm),
      entry(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, &describe_cipher),
      entry(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, &set_cipher),
      entry(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, &what_can_be_set),
      entry(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, &what_can_be_asked),
      OSSL_DISPATCH{}};
  static const std::array ciphers = {
      OSSL_ALGORITHM{"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "provider=shoal",
                     functions.data(), "AES-GCM, eight blocks at a time"},
      OSSL_ALGORITHM{}};
  *no_cache = 0;
  return operation == OSSL_OP_CIPHER ? ciphers.data() : nullptr;
}

int open_provider(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH*, const OSSL_DISPATCH** out,
                  void** context) {
  static const std::array functions = {entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, &algorithms),
                                       OSSL_DISPATCH{}};
  *out = functions.data();
  *context = const_cast<OSSL_CORE_HANDLE*>(handle);
  return 1;
}

}  // namespace

const char* wide_aes_properties() {
  // Both providers stay loaded until the process ends. The default one is loaded explicitly:
  // OpenSSL loads it by itself only as long as no other is loaded.
  static OSSL_PROVIDER* const others =
      library() == nullptr ? nullptr : OSSL_PROVIDER_load(nullptr, "default");
  static OSSL_PROVIDER* const ours =
      others != nullptr && OSSL_PROVIDER_add_builtin(nullptr, "shoal", &open_provider) == 1
          ? OSSL_PROVIDER_load(nullptr, "shoal")
          : nullptr;
  return ours != nullptr ? "?provider=shoal" : nullptr;
}

}  // namespace shoal::net

#else

const char* shoal::net::wide_aes_properties() { return nullptr; }

#endif

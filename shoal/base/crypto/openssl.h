// OpenSSL's objects with owners, and its errors as Status.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::net {

template <auto free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, FreeWith<&BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<&EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<&X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, FreeWith<&X509_REQ_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, FreeWith<&SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<&SSL_free>>;

// The oldest error of this thread in words. Clears the thread's errors.
inline std::string take_openssl_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "unknown error";
}

inline Status openssl_failure(Code code, std::string_view what) {
  return Status(code, std::string(what) + ": " + take_openssl_error());
}

}  // namespace shoal::net

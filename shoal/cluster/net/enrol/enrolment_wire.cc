// Encoding and proof of join requests. The bytes are parsed before anything is authenticated, so
// the format is fixed offsets and one length.
#include "shoal/cluster/net/enrol/enrolment_wire.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "shoal/base/text/printable.h"

namespace shoal::net {
namespace {

// id, proof, u16 port, u8 length of the name, name, the rest is the request.
constexpr size_t kPortAt = sizeof(InvitationId) + sizeof(Proof);
constexpr size_t kFixedBytes = kPortAt + sizeof(uint16_t) + 1;
constexpr size_t kMaxMessageBytes = 300;

void append(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// The part of a request that the proof covers. Every field is in it: a changed name, port or key
// makes the proof fail. The length of the name is covered too, so that fields cannot shift.
void append_wish(std::vector<std::byte>& to, const JoinRequest& request) {
  to.push_back(static_cast<std::byte>(request.port >> 8));
  to.push_back(static_cast<std::byte>(request.port & 0xff));
  to.push_back(static_cast<std::byte>(request.name.size()));
  append(to, bytes_of(request.name));
  append(to, bytes_of(request.request));
}

}  // namespace

std::vector<std::byte> encode(const JoinRequest& request) {
  std::vector<std::byte> bytes;
  append(bytes, request.id);
  append(bytes, request.proof);
  append_wish(bytes, request);
  return bytes;
}

Result<JoinRequest> decode_join_request(Bytes bytes) {
  const Status corrupt(Code::kCorrupt, "not a request to join");
  if (bytes.size() < kFixedBytes) return corrupt;
  JoinRequest request;
  std::ranges::copy(bytes.first(request.id.size()), request.id.begin());
  std::ranges::copy(bytes.subspan(request.id.size(), request.proof.size()), request.proof.begin());
  request.port = static_cast<uint16_t>(std::to_integer<unsigned>(bytes[kPortAt]) << 8 |
                                       std::to_integer<unsigned>(bytes[kPortAt + 1]));
  const auto name_bytes = std::to_integer<size_t>(bytes[kFixedBytes - 1]);
  const Bytes rest = bytes.subspan(kFixedBytes);
  if (rest.size() < name_bytes) return corrupt;
  request.name = text_of(rest.first(name_bytes));
  request.request = text_of(rest.subspan(name_bytes));
  return request;
}

std::vector<std::byte> encode(const Result<std::string>& answer) {
  std::vector<std::byte> bytes{static_cast<std::byte>(answer.status().code())};
  append(bytes, bytes_of(answer.ok() ? std::string_view(*answer) : answer.status().message()));
  return bytes;
}

Result<std::string> decode_join_answer(Bytes bytes) {
  if (bytes.empty() || bytes[0] > static_cast<std::byte>(Code::kInternal))
    return Status(Code::kCorrupt, "not an answer to a request to join");
  const auto code = static_cast<Code>(bytes[0]);
  std::string text = text_of(bytes.subspan(1));
  if (code == Code::kOk) return text;
  // The other side may not be the authority yet: its words must not reach a terminal as they are.
  return Status(code, printable(text, kMaxMessageBytes));
}

Result<Binding> binding_of(SSL& ssl) {
  // RFC 5705 reserves the prefix for labels that are not registered.
  constexpr std::string_view kLabel = "EXPERIMENTAL shoal join";
  Binding binding;
  if (SSL_export_keying_material(&ssl, reinterpret_cast<unsigned char*>(binding.data()),
                                 binding.size(), kLabel.data(), kLabel.size(), nullptr, 0, 0) != 1)
    return openssl_failure(Code::kInternal, "cannot bind to the connection");
  return binding;
}

Result<Proof> prove(const Secret& secret, const Binding& binding, const JoinRequest& request) {
  std::vector<std::byte> said(binding.begin(), binding.end());
  append(said, request.id);
  append_wish(said, request);
  Proof proof;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), raw(said.data()),
           said.size(), reinterpret_cast<unsigned char*>(proof.data()), &size) == nullptr ||
      size != proof.size())
    return openssl_failure(Code::kInternal, "cannot compute a proof");
  return proof;
}

bool same(const Proof& a, const Proof& b) {
  // A plain comparison would tell by its time how many bytes of a guess are right.
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace shoal::net

// A deny list as text: a line with version, cluster and counter, a line for each removed member,
// and a line with the signature of all before it (ECDSA, SHA-256). The first word keeps a signature
// from being taken for that of a certificate, which begins with another byte.
#include "shoal/cluster/net/tls/deny_list.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "shoal/cluster/net/hex.h"

namespace shoal::net {
namespace {

constexpr std::string_view kTitle = "shoal-deny-list-1";
constexpr std::string_view kSignature = "signature ";

using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<&EVP_MD_CTX_free>>;

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<std::string> signature_of(std::string_view text, EVP_PKEY& key) {
  const DigestPtr context(EVP_MD_CTX_new());
  size_t size = 0;
  std::vector<std::byte> signature;
  const auto sign = [&](unsigned char* into) {
    return EVP_DigestSign(context.get(), into, &size, raw(text), text.size()) == 1;
  };
  bool ok = context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, &key) == 1 &&
            sign(nullptr);
  if (ok) {
    signature.resize(size);
    ok = sign(reinterpret_cast<unsigned char*>(signature.data()));
  }
  if (!ok) return openssl_failure(Code::kInternal, "cannot sign the deny list");
  signature.resize(size);  // the first call gives an upper bound
  return to_hex(signature);
}

bool is_signed_by(X509& authority, std::string_view text, std::string_view hex) {
  const auto signature = from_hex(hex);
  const DigestPtr context(EVP_MD_CTX_new());
  const bool ok =
      signature && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                           X509_get0_pubkey(&authority)) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature->data()),
                       signature->size(), raw(text), text.size()) == 1;
  ERR_clear_error();
  return ok;
}

std::string body_of(const std::string& cluster, uint64_t counter,
                    const std::vector<DeniedPeer>& peers) {
  std::ostringstream text;
  text << kTitle << " " << cluster << " " << counter << "\n";
  for (const DeniedPeer& peer : peers)
    text << peer.name << " " << to_string(peer.role) << " " << peer.id.serial << " "
         << to_hex(peer.id.key) << " " << peer.until << "\n";
  return text.str();
}

bool parse_peer(const std::string& line, DeniedPeer& peer) {
  std::istringstream words(line);
  std::string role, key, more;
  if (!(words >> peer.name >> role >> peer.id.serial >> key >> peer.until) || words >> more)
    return false;
  const auto bytes = from_hex(key);
  const auto known = parse_role(role);
  if (!bytes || bytes->size() != peer.id.key.size() || !known || !is_peer_name(peer.name))
    return false;
  peer.role = *known;
  std::ranges::copy(*bytes, peer.id.key.begin());
  return true;
}

}  // namespace

DenyList::DenyList(uint64_t counter, std::vector<DeniedPeer> peers, std::string text)
    : counter_(counter), peers_(std::move(peers)), text_(std::move(text)) {
  for (const DeniedPeer& peer : peers_) {
    serials_.insert(peer.id.serial);
    keys_.insert(peer.id.key);
  }
}

bool DenyList::denies(const CertificateId& id) const {
  return serials_.contains(id.serial) || keys_.contains(id.key);
}

Result<DenyList> DenyList::sign(const std::string& cluster, uint64_t counter,
                                std::vector<DeniedPeer> peers, EVP_PKEY& authority_key) {
  std::string text = body_of(cluster, counter, peers);
  SHOAL_ASSIGN(const std::string signature, signature_of(text, authority_key));
  text += std::string(kSignature) + signature + "\n";
  if (text.size() > kMaxDenyListBytes)
    return Status(Code::kExhausted, "too many members were removed; wait until some have expired");
  return DenyList(counter, std::move(peers), std::move(text));
}

Result<DenyList> DenyList::parse(std::string_view text, const std::string& cluster,
                                 X509& authority) {
  const Status corrupt(Code::kCorrupt, "not a deny list of this cluster");
  const size_t end = text.rfind(kSignature);
  if (text.size() > kMaxDenyListBytes || end == text.npos || !text.ends_with('\n')) return corrupt;
  const std::string_view body = text.substr(0, end);
  const std::string_view hex =
      text.substr(end + kSignature.size(), text.size() - end - kSignature.size() - 1);
  // Before anything is read: only the authority's own bytes are parsed.
  if (!is_signed_by(authority, body, hex)) return corrupt;
  std::istringstream lines{std::string(body)};
  std::string title, id, line;
  uint64_t counter = 0;
  if (!(lines >> title >> id >> counter) || title != kTitle || id != cluster) return corrupt;
  std::getline(lines, line);
  std::vector<DeniedPeer> peers;
  while (std::getline(lines, line)) {
    if (!parse_peer(line, peers.emplace_back())) return corrupt;
  }
  return DenyList(counter, std::move(peers), std::string(text));
}

}  // namespace shoal::net

// Invitations as files: one for each, named by the id, with the expiry and the secret. A claim is a
// second file, made exclusively: of two processes, one succeeds. Using one up is a rename. The file
// of a used one stays until it expires, for a better message. The id is a prefix of the secret's
// hash and does not reveal it.
#include "shoal/cluster/net/enrol/invitation.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/net/address.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::net {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "shoal1";
constexpr const char* kUsed = ".used";
constexpr const char* kClaimed = ".claimed";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text = text.substr(end + 1);
  }
}

template <size_t n>
bool fill_from_hex(std::string_view text, std::array<std::byte, n>& into) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != n) return false;
  std::ranges::copy(*bytes, into.begin());
  return true;
}

// "EXPIRES SECRET ROLE": seconds since 1970, hex, a word.
struct Record {
  int64_t expires;
  Invitation invitation;
};

int64_t seconds_since_1970(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string to_text(const Record& record) {
  return std::to_string(record.expires) + " " + to_hex(record.invitation.secret) + " " +
         std::string(to_string(record.invitation.role)) + "\n";
}

std::optional<Record> parse_record(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const auto words = split(text, ' ');
  if (words.size() != 3) return std::nullopt;
  Record record{};
  const char* const end = words[0].data() + words[0].size();
  const auto number = std::from_chars(words[0].data(), end, record.expires);
  const auto role = parse_role(words[2]);
  if (number.ec != std::errc() || number.ptr != end || !role) return std::nullopt;
  if (!fill_from_hex(words[1], record.invitation.secret)) return std::nullopt;
  record.invitation.role = *role;
  return record;
}

}  // namespace

std::string to_string(const Token& token) {
  return std::string(kPrefix) + "/" + token.address + "/" + to_hex(token.fingerprint) + "/" +
         to_hex(token.secret);
}

Result<Token> parse_token(std::string_view text) {
  const auto parts = split(text, '/');
  Token token{};
  if (parts.size() != 4 || parts[0] != kPrefix || !fill_from_hex(parts[2], token.fingerprint) ||
      !fill_from_hex(parts[3], token.secret))
    return invalid("not a token; copy all of what \"shoal cluster invite\" printed");
  SHOAL_ASSIGN(const Address address, parse_address(parts[1]));
  token.address = std::string(parts[1]);
  return token;
}

Result<InvitationId> id_of(const Secret& secret) {
  std::array<std::byte, 32> digest;
  unsigned size = 0;
  if (EVP_Digest(secret.data(), secret.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 &size, EVP_sha256(), nullptr) != 1)
    return openssl_failure(Code::kInternal, "cannot digest a secret");
  InvitationId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

fs::path Invitations::file_of(const InvitationId& id) const { return folder_ / to_hex(id); }

Result<Token> Invitations::invite(const std::string& address, Time now, Role role,
                                  std::chrono::seconds lifetime) const {
  if (role == Role::kOwner) return invalid("nobody is invited as an owner");
  SHOAL_ASSIGN(const Address checked, parse_address(address));
  Token token{address, authority_.fingerprint(), {}};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(token.secret.data()),
                 static_cast<int>(token.secret.size())) != 1)
    return openssl_failure(Code::kInternal, "cannot draw a secret");
  SHOAL_ASSIGN(const InvitationId id, id_of(token.secret));
  SHOAL_TRY(make_private_folder(folder_));
  // Here, because invitations are the only thing that adds files.
  forget_expired(now);
  SHOAL_TRY(write_new_text(file_of(id),
                           to_text({seconds_since_1970(now + lifetime), {token.secret, role}})));
  return token;
}

Result<Invitation> Invitations::look_up(const InvitationId& id, Time now) const {
  std::error_code ignored;
  if (fs::exists(file_of(id) += kUsed, ignored))
    return invalid("this token has been used; ask for another");
  const auto text = read_text(file_of(id));
  // The id has been decoded from eight bytes, so the path cannot leave the folder.
  if (!text.ok()) return Status(Code::kNotFound, "this token was not made here; ask for another");
  const auto record = parse_record(*text);
  if (!record) return Status(Code::kCorrupt, "the record of this token is damaged");
  // By the authority's clock alone; the newcomer's may be wrong.
  if (seconds_since_1970(now) >= record->expires)
    return invalid("this token has expired; ask for another");
  return record->invitation;
}

Status Invitations::claim(const InvitationId& id, const Fingerprint& key) const {
  const fs::path file = file_of(id) += kClaimed;
  const std::string claimant = to_hex(key) + "\n";
  const Status made = write_new_text(file, claimant);
  if (made.code() != Code::kInvalidArgument) return made;
  SHOAL_ASSIGN(const std::string first, read_text(file));
  return first == claimant ? Status() : invalid("this token has been used; ask for another");
}

void Invitations::give_up(const InvitationId& id) const {
  std::error_code ignored;
  fs::remove(file_of(id) += kClaimed, ignored);
}

Status Invitations::use(const InvitationId& id) const {
  // Only one of two concurrent callers finds the file.
  if (std::rename(file_of(id).c_str(), (file_of(id) += kUsed).c_str()) == 0) {
    return sync_folder(folder_);  // or a power cut would make the token good again
  }
  return errno == ENOENT ? invalid("this token has been used; ask for another")
                         : system_status(errno).at(folder_.string());
}

void Invitations::forget_expired(Time now) const {
  const auto files = list_folder(folder_);
  if (!files.ok()) return;
  std::error_code ignored;
  for (const fs::path& file : *files) {
    const auto text = read_text(file);
    const auto record = text.ok() ? parse_record(*text) : std::nullopt;
    if (!record || record->expires > seconds_since_1970(now)) continue;
    fs::remove(file, ignored);
    fs::path claim = file;
    fs::remove(claim.replace_extension(kClaimed), ignored);
  }
}

}  // namespace shoal::net
